//! Predefined operations, and reducing within one process.

use crate::arguments::Out;
use core::ffi::{c_int, c_void};
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error, Kind};
use pombo_mpi::{op, user_buffer};

mpi! {
    fn MPI_Op_commutative(op: Op, commute: Out<c_int>) {
        op::name(op).ok_or(Error::Handle { kind: Kind::Op, got: op.0 })?;
        out!(commute = c_int::from(op::is_commutative(op)));
        Ok(())
    }

    fn MPI_Reduce_local(inbuf: *const c_void, inoutbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op) {
        Ok(reduce_local(inbuf, inoutbuf, count.into(), datatype, op)?)
    }

    fn MPI_Reduce_local_c(inbuf: *const c_void, inoutbuf: *mut c_void, count: Count, datatype: Datatype, op: Op) {
        Ok(reduce_local(inbuf, inoutbuf, count, datatype, op)?)
    }
}

fn reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: Count,
    datatype: Datatype,
    op: Op,
) -> Result<(), Error> {
    let items = user_buffer::items(count)?;
    let reduction = op::reduction(op, datatype)?;
    if items == 0 {
        return Ok(());
    }
    let inout = inoutbuf.cast_const();
    user_buffer::present(inbuf, items)?;
    user_buffer::present(inout, items)?;
    if inbuf == inout {
        return Err(Error::Argument {
            class: Class::Buffer,
            name: "inbuf",
            must: "other memory than inoutbuf",
        });
    }
    // SAFETY: the caller's buffers hold `count` items each and do not overlap.
    unsafe { reduction.apply(inbuf.cast(), inoutbuf.cast(), items) };
    Ok(())
}
