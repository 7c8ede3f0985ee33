//! Predefined operations, and local reductions.

use crate::arguments::{Out, UserBuffer};
use core::ffi::c_int;
use pombo_mpi::constants::*;
use pombo_mpi::error::{Error, Kind};
use pombo_mpi::op;

mpi! {
    fn MPI_Op_commutative(op: Op, commute: Out<c_int>) {
        op::name(op).ok_or(Error::Handle { kind: Kind::Op, got: op.0 })?;
        out!(commute = c_int::from(op::is_commutative(op)));
        Ok(())
    }

    fn MPI_Reduce_local(inbuf: UserBuffer, inoutbuf: UserBuffer, count: c_int, datatype: Datatype, op: Op) {
        Ok(op::reduce_local(inbuf, inoutbuf, count.into(), datatype, op)?)
    }

    fn MPI_Reduce_local_c(inbuf: UserBuffer, inoutbuf: UserBuffer, count: Count, datatype: Datatype, op: Op) {
        Ok(op::reduce_local(inbuf, inoutbuf, count, datatype, op)?)
    }
}
