//! Arguments of the C interface. Pointers that a call reads or writes through have types of their own, here or in
//! [`pombo_mpi::c_arguments`], and are usable only after a null check: `mpi!` checks all of them before the call has
//! any effect. Every module that exports functions uses them.

use core::ffi::{c_char, c_int, c_void};
use pombo_mpi::c_arguments::{OutPointer, RankArray, TextRoom};
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::status::Status;
use pombo_mpi::user_buffer::UserAddress;
use pombo_mpi::{CommError, errhandler};

/// An argument as C passes it, and the checked form that a call's body gets.
pub(crate) trait Argument {
    /// The argument after the checks that need no other argument.
    type Checked;

    /// Checks the argument; returns `None` for a null pointer where null is not allowed.
    fn check(self) -> Option<Self::Checked>;
}

/// The address of a result.
pub(crate) type Out<T> = Option<OutPointer<T>>;

/// The address of a value that the call reads and writes.
pub(crate) type InOut<T> = Out<T>;

/// The address of a value that the call only reads.
pub(crate) type In<T> = Out<T>;

/// Memory for a text.
pub(crate) type OutText<const ROOM: usize> = Out<TextRoom<ROOM>>;

/// A message buffer.
pub(crate) type UserBuffer = UserAddress<'static>;

impl<T> Argument for Out<T> {
    type Checked = OutPointer<T>;

    #[inline(always)]
    fn check(self) -> Option<OutPointer<T>> {
        self
    }
}

/// Handles of which C passes arrays: plain integers.
pub(crate) trait Handle {}

impl Handle for Request {}

/// An array of the C caller, whose pointer is null only if the array is empty.
pub(crate) struct Array<T> {
    first: *mut T,
    len: usize,
}

impl<T> Array<T> {
    /// Makes an array of `count` elements; fails if `count` is negative or `first` is null without need.
    #[inline]
    pub(crate) fn of(count: c_int, first: *mut T, name: &'static str) -> Result<Self, Error> {
        let len = usize::try_from(count).map_err(|_| Error::Count { got: count.into() })?;
        if first.is_null() && len > 0 {
            return Err(null(name));
        }
        Ok(Array { first, len })
    }

    /// Writes the element at an index, if there is one.
    pub(crate) fn set(&mut self, index: usize, value: T) {
        if index < self.len {
            // SAFETY: the C caller has promised as many elements as its count says during the call (MPI 5.0, section
            // 2.5.2); there is at least one, so the pointer is not null.
            unsafe { self.first.add(index).write(value) };
        }
    }

    /// Returns the whole array as a slice, where every bit pattern is a valid `T`.
    #[inline]
    pub(crate) fn all<'a>(self) -> &'a mut [T]
    where
        T: Handle,
    {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: the C caller has promised as many initialised handles as its count says, which nothing else moves or
        // changes during the call (MPI 5.0, sections 2.5.2 and 3.7.5); there is at least one, so the pointer is not
        // null.
        unsafe { core::slice::from_raw_parts_mut(self.first, self.len) }
    }
}

/// The address of a status, or `MPI_STATUS_IGNORE`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct StatusWriter(Option<OutPointer<Status>>);

impl StatusWriter {
    /// Writes the status of a call that completes one operation.
    #[inline(always)]
    pub(crate) fn store(self, status: Status) {
        if let Some(place) = self.0 {
            status.store(place);
        }
    }
}

impl Argument for StatusWriter {
    type Checked = Self;

    #[inline(always)]
    fn check(self) -> Option<Self> {
        Some(self)
    }
}

/// The array of the statuses of several operations.
pub(crate) struct Statuses(Array<Status>);

impl Statuses {
    /// Makes an array of `count` statuses, which is empty for `MPI_STATUSES_IGNORE`.
    #[inline]
    pub(crate) fn of(count: usize, first: *mut Status) -> Self {
        let len = if first.is_null() { 0 } else { count };
        Statuses(Array { first, len })
    }

    /// Returns whether the caller wants the statuses.
    pub(crate) fn are_wanted(&self) -> bool {
        self.0.len > 0
    }

    /// Writes one status, and the error class of its operation.
    pub(crate) fn set(&mut self, index: usize, status: &Status, failure: Option<CommError>) {
        let error = failure.map_or(0, |failure| failure.error.code());
        self.0.set(index, status.with_error(error));
    }
}

/// Raises the error of a null argument. `named` is the function's name, a space, and the argument's name: one text, as
/// hundreds of calls pass it.
#[cold]
#[inline(never)]
pub(crate) fn refuse(named: &'static str) -> c_int {
    let (function, argument) = named.split_once(' ').unwrap_or((named, "argument"));
    errhandler::raise(function, null(argument).into())
}

#[cold]
#[inline(never)]
fn null(name: &'static str) -> Error {
    Error::Argument {
        class: Class::Arg,
        name,
        must: "an address, not null",
    }
}

/// Arguments without a check of their own: integers, handles and buffers, which the calls check, and pointers that may
/// be null or can only be checked together with a count.
macro_rules! plain {
    ($($type:ty)*) => {$(
        impl Argument for $type {
            type Checked = Self;

            #[inline(always)]
            fn check(self) -> Option<Self> {
                Some(self)
            }
        }
    )*};
}

plain! {
    c_int Count Aint
    Comm Datatype Errhandler Info Message Op Request
    UserBuffer *const c_void *mut c_void
    RankArray<c_int> RankArray<Count> RankArray<Datatype> *mut c_int
    *mut *mut *mut c_char
    *const Request *mut Request *mut Status
}
