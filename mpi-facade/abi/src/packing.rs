//! Packing and unpacking of messages. The `int` and `MPI_Count` forms of a function share one body.

use crate::arguments::{InOut, Out, Text, UserBuffer};
use core::ffi::c_int;
use pombo_mpi::constants::*;
use pombo_mpi::datatype;

macro_rules! packing {
    ($($pack:ident $unpack:ident $count:ident;)*) => {mpi! {$(
        fn $pack(
            inbuf: UserBuffer,
            incount: $count,
            datatype: Datatype,
            outbuf: UserBuffer,
            outsize: $count,
            position: InOut<$count>,
            comm: Comm,
        ) {
            let (room, place) = (outsize.into(), position.get().into());
            let end = datatype::pack(inbuf, incount.into(), datatype, outbuf, room, place, comm)?;
            out!(position = end as $count);
            Ok(())
        }

        fn $unpack(
            inbuf: UserBuffer,
            insize: $count,
            position: InOut<$count>,
            outbuf: UserBuffer,
            outcount: $count,
            datatype: Datatype,
            comm: Comm,
        ) {
            let (room, place) = (insize.into(), position.get().into());
            let end = datatype::unpack(inbuf, room, place, outbuf, outcount.into(), datatype, comm)?;
            out!(position = end as $count);
            Ok(())
        }
    )*}};
}

packing! {
    MPI_Pack MPI_Unpack c_int;
    MPI_Pack_c MPI_Unpack_c Count;
}

mpi! {
    fn MPI_Pack_size(incount: c_int, datatype: Datatype, comm: Comm, size: Out<c_int>) {
        let bytes = datatype::pack_size(incount.into(), datatype, comm)?;
        out!(size = c_int::try_from(bytes).unwrap_or(MPI_UNDEFINED));
        Ok(())
    }

    fn MPI_Pack_size_c(incount: Count, datatype: Datatype, comm: Comm, size: Out<Count>) {
        out!(size = datatype::pack_size(incount, datatype, comm)? as Count);
        Ok(())
    }
}

macro_rules! external {
    ($($pack:ident $unpack:ident $pack_size:ident $count:ident $bytes:ident;)*) => {mpi! {$(
        fn $pack(
            datarep: Text,
            inbuf: UserBuffer,
            incount: $count,
            datatype: Datatype,
            outbuf: UserBuffer,
            outsize: $bytes,
            position: InOut<$bytes>,
        ) {
            let (name, room, place) = (datarep.text(), outsize as i64, position.get() as i64);
            let end = datatype::pack_external(name, inbuf, incount.into(), datatype, outbuf, room, place)?;
            out!(position = end as $bytes);
            Ok(())
        }

        fn $unpack(
            datarep: Text,
            inbuf: UserBuffer,
            insize: $bytes,
            position: InOut<$bytes>,
            outbuf: UserBuffer,
            outcount: $count,
            datatype: Datatype,
        ) {
            let (name, room, place) = (datarep.text(), insize as i64, position.get() as i64);
            let end = datatype::unpack_external(name, inbuf, room, place, outbuf, outcount.into(), datatype)?;
            out!(position = end as $bytes);
            Ok(())
        }

        fn $pack_size(datarep: Text, incount: $count, datatype: Datatype, size: Out<$bytes>) {
            out!(size = datatype::pack_external_size(datarep.text(), incount.into(), datatype)? as $bytes);
            Ok(())
        }
    )*}};
}

external! {
    MPI_Pack_external MPI_Unpack_external MPI_Pack_external_size c_int Aint;
    MPI_Pack_external_c MPI_Unpack_external_c MPI_Pack_external_size_c Count Count;
}
