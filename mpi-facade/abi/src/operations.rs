//! Reduction operations, and local reductions.

use crate::arguments::{InOut, Out, UserBuffer};
use core::ffi::{c_int, c_void};
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::op::{self, UserFunction};

/// `MPI_User_function`, or null.
pub(crate) type Plain = Option<extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Datatype)>;
/// `MPI_User_function_c`, or null.
pub(crate) type Large = Option<extern "C" fn(*mut c_void, *mut c_void, *mut Count, *mut Datatype)>;

mpi! {
    fn MPI_Op_create(user_fn: Plain, commute: c_int, op: Out<Op>) {
        let function = user_fn.map(UserFunction::Plain).ok_or(null())?;
        out!(op = op::create(function, commute != 0)?);
        Ok(())
    }

    fn MPI_Op_create_c(user_fn: Large, commute: c_int, op: Out<Op>) {
        let function = user_fn.map(UserFunction::Large).ok_or(null())?;
        out!(op = op::create(function, commute != 0)?);
        Ok(())
    }

    fn MPI_Op_free(op: InOut<Op>) {
        op::free(op.get())?;
        out!(op = Op::NULL);
        Ok(())
    }

    fn MPI_Op_commutative(op: Op, commute: Out<c_int>) {
        out!(commute = c_int::from(op::commutes(op)?));
        Ok(())
    }

    fn MPI_Reduce_local(inbuf: UserBuffer, inoutbuf: UserBuffer, count: c_int, datatype: Datatype, op: Op) {
        op::reduce_local(inbuf, inoutbuf, count.into(), datatype, op)
    }

    fn MPI_Reduce_local_c(inbuf: UserBuffer, inoutbuf: UserBuffer, count: Count, datatype: Datatype, op: Op) {
        op::reduce_local(inbuf, inoutbuf, count, datatype, op)
    }
}

fn null() -> Error {
    Error::Argument {
        class: Class::Arg,
        name: "user_fn",
        must: "a function, not null",
    }
}
