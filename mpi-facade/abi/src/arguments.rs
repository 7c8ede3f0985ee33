//! Arguments of the C interface. A pointer that a call reads or writes through has a type of its own, here or in
//! [`pombo_mpi::c_arguments`], and gives itself away only once it is known not to be null: `mpi!` checks all of them
//! before the call does anything. For every module that exports.

use core::ffi::{c_char, c_int, c_void};
use pombo_mpi::c_arguments::{OutPointer, RankArray, TextRoom};
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::status::Status;
use pombo_mpi::user_buffer::UserAddress;
use pombo_mpi::{CommError, errhandler};

/// What C passes, and what of it a call's body gets to see.
pub(crate) trait Argument {
    /// The argument, in order as far as that can be seen at once.
    type Checked;

    /// None for a null pointer that must not be one.
    fn check(self) -> Option<Self::Checked>;
}

/// The place of a result.
pub(crate) type Out<T> = Option<OutPointer<T>>;

/// A place that is read first.
pub(crate) type InOut<T> = Out<T>;

/// A place that is read only.
pub(crate) type In<T> = Out<T>;

/// Room for a text.
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

/// Plain numbers of which arrays are passed.
pub(crate) trait Handle {}

impl Handle for Request {}

/// An array of the caller's: null only if nothing is in it.
pub(crate) struct Array<T> {
    first: *mut T,
    len: usize,
}

impl<T> Array<T> {
    /// Of `count` places.
    #[inline]
    pub(crate) fn of(count: c_int, first: *mut T, name: &'static str) -> Result<Self, Error> {
        let len = usize::try_from(count).map_err(|_| Error::Count { got: count.into() })?;
        if first.is_null() && len > 0 {
            return Err(null(name));
        }
        Ok(Array { first, len })
    }

    /// Writes at an index, if there is such a place.
    pub(crate) fn set(&mut self, index: usize, value: T) {
        if index < self.len {
            // SAFETY: the C caller has promised as many places as its count says during the call (MPI 5.0, section
            // 2.5.2); there are some, so this is not null.
            unsafe { self.first.add(index).write(value) };
        }
    }

    /// All of it, where every bit pattern is a `T`.
    #[inline]
    pub(crate) fn all<'a>(self) -> &'a mut [T]
    where
        T: Handle,
    {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: the C caller has promised as many initialised handles as its count says, which stay where they are
        // and which nobody else changes during the call (MPI 5.0, sections 2.5.2 and 3.7.5); there are some, so this
        // is not null.
        unsafe { core::slice::from_raw_parts_mut(self.first, self.len) }
    }
}

/// The place of a status, or `MPI_STATUS_IGNORE`.
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

/// The places of the statuses of several operations.
pub(crate) struct Statuses(Array<Status>);

impl Statuses {
    /// So many places, or `MPI_STATUSES_IGNORE`.
    #[inline]
    pub(crate) fn of(count: usize, first: *mut Status) -> Self {
        let len = if first.is_null() { 0 } else { count };
        Statuses(Array { first, len })
    }

    /// Does the caller want them?
    pub(crate) fn are_wanted(&self) -> bool {
        self.0.len > 0
    }

    /// Writes one, and what went wrong with its operation.
    pub(crate) fn set(&mut self, index: usize, status: &Status, failure: Option<CommError>) {
        let error = failure.map_or(0, |failure| failure.error.code());
        self.0.set(index, status.with_error(error));
    }
}

/// Raises the error of an argument that must not be null: the function's name, a space, and the argument's. So many
/// calls do this that each passes one text.
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

/// Arguments that are what they are: numbers, handles, buffers, which the calls look at themselves, and pointers that
/// may be null or may only be judged together with a count.
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
