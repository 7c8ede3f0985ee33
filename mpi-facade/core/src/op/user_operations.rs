//! The reduction operations that a program makes. Source: MPI 5.0, section 6.9.5.

use crate::constants::*;
use crate::error::{Error, Kind};
use crate::handle_table::HandleTable;
use core::ffi::{c_int, c_void};

/// A function of the program that combines `inout[i] = input[i] op inout[i]`. The C caller of `MPI_Op_create` promises
/// that it may be called with any items of the datatypes to which the program applies it.
#[derive(Clone, Copy, Debug)]
pub enum UserFunction {
    /// `MPI_User_function`.
    Plain(extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Datatype)),
    /// `MPI_User_function_c`.
    Large(extern "C" fn(*mut c_void, *mut c_void, *mut Count, *mut Datatype)),
}

/// An operation of the program.
#[derive(Clone, Copy)]
pub(crate) struct UserOperation {
    pub(super) function: UserFunction,
    pub(super) commutes: bool,
    /// Whether it is the library's own, which the program cannot free: it may have the number of a freed handle.
    pub(super) is_kept: bool,
}

/// All operations of the program.
#[derive(Default)]
pub(crate) struct UserOperations(HandleTable<UserOperation>);

impl UserOperations {
    /// Adds an operation and returns its handle.
    pub(super) fn insert(&mut self, operation: UserOperation) -> Op {
        Op(self.0.insert(operation))
    }

    /// Returns another handle of an operation; a predefined one needs no other.
    pub(crate) fn keep(&mut self, op: Op) -> Op {
        match self.0.get(op.0).copied() {
            None => op,
            Some(operation) => self.insert(UserOperation {
                is_kept: true,
                ..operation
            }),
        }
    }

    /// Removes an operation of the program, as [`UserOperations::remove`].
    pub(super) fn remove_own(&mut self, op: Op) -> Option<UserOperation> {
        self.0.get(op.0).filter(|operation| !operation.is_kept)?;
        self.remove(op)
    }

    /// Removes an operation.
    pub(crate) fn remove(&mut self, op: Op) -> Option<UserOperation> {
        self.0.remove(op.0)
    }

    pub(super) fn get(&self, op: Op) -> Result<UserOperation, Error> {
        self.0.get(op.0).copied().ok_or(unknown(op))
    }

    /// Returns whether an operation commutes; true if there is none.
    pub(crate) fn commutes(&self, op: Op) -> bool {
        self.0.get(op.0).is_none_or(|operation| operation.commutes)
    }
}

/// Returns the error of a handle that names no operation.
pub(super) fn unknown(op: Op) -> Error {
    Error::Handle {
        kind: Kind::Op,
        got: op.0,
    }
}
