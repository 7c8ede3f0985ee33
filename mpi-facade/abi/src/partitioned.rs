//! Partitioned point-to-point requests. Both forms of a function take large counts.

use crate::arguments::{Array, Out, UserBuffer};
use core::ffi::c_int;
use pombo_mpi::constants::*;
use pombo_mpi::partitioned::{self, Partitions};
use pombo_mpi::{CommError, info};

macro_rules! partitioned {
    ($($name:ident $make:ident $partner:ident;)*) => {mpi! {$(
        fn $name(
            buf: UserBuffer,
            partitions: c_int,
            count: Count,
            datatype: Datatype,
            $partner: c_int,
            tag: c_int,
            comm: Comm,
            info: Info,
            request: Out<Request>,
        ) {
            if info != Info::NULL {
                info::keys(info).map_err(CommError::on(comm))?;
            }
            let data = Partitions { buf, partitions, count, datatype };
            out!(request = partitioned::$make(data, $partner, tag, comm)?);
            Ok(())
        }
    )*}};
}

partitioned! {
    MPI_Psend_init send dest;
    MPI_Psend_init_c send dest;
    MPI_Precv_init receive source;
    MPI_Precv_init_c receive source;
}

mpi! {
    fn MPI_Pready(partition: c_int, request: Request) {
        partitioned::ready(request, &[partition])
    }

    fn MPI_Pready_range(partition_low: c_int, partition_high: c_int, request: Request) {
        partitioned::ready_range(request, partition_low, partition_high)
    }

    fn MPI_Pready_list(length: c_int, array_of_partitions: *mut c_int, request: Request) {
        let partitions = Array::list(length, array_of_partitions, "array_of_partitions")?;
        partitioned::ready(request, &partitions.values())
    }

    fn MPI_Parrived(request: Request, partition: c_int, flag: Out<c_int>) {
        out!(flag = c_int::from(partitioned::has_arrived(request, partition)?));
        Ok(())
    }
}
