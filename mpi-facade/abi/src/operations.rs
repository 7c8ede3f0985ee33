//! Predefined operations, and reducing within one process.

use core::ffi::{c_int, c_void};
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error, Kind};
use pombo_mpi::op;

mpi! {
    fn MPI_Op_commutative(op: Op, commute: *mut c_int) {
        op::name(op).ok_or(Error::Handle { kind: Kind::Op, got: op.0 })?;
        give!(commute = c_int::from(op::is_commutative(op)));
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
    let items = usize::try_from(count).map_err(|_| Error::Count { got: count })?;
    let reduction = op::check(op, datatype)?;
    if items == 0 {
        return Ok(());
    }
    if inbuf.is_null() || inoutbuf.is_null() {
        return Err(Error::Buffer { count });
    }
    let in_place = MPI_IN_PLACE.cast_const();
    if inbuf == in_place || inoutbuf.cast_const() == in_place || inbuf == inoutbuf {
        return Err(Error::Argument {
            class: Class::Buffer,
            name: "inbuf or inoutbuf",
            must: "memory, each its own: MPI_IN_PLACE has no meaning here",
        });
    }
    // SAFETY: the caller's buffers hold `count` items each and do not overlap.
    unsafe { reduction.apply(inbuf.cast(), inoutbuf.cast(), items) };
    Ok(())
}
