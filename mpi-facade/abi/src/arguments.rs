//! Arguments of the C interface. Pointers that a call reads or writes through have types of their own, here or in
//! [`pombo_mpi::c_arguments`], and are usable only after a null check: `mpi!` checks all of them before the call has
//! any effect. Every module that exports functions uses them.

use crate::operations::{Large, Plain};
use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_void};
use pombo_mpi::c_arguments::{
    CopyFunction, DeleteFunction, ErrorFunction, InArray, MainArguments, OutPointer, TextRoom,
};
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::generalized::{CancelFunction, FreeFunction, QueryFunction};
use pombo_mpi::status::Status;
use pombo_mpi::user_buffer::UserAddress;
use pombo_mpi::{CommError, errhandler};

/// An argument as C passes it, and the checked form that a call's body gets.
pub(crate) trait Argument {
    /// The argument after the checks that need no other argument.
    type Checked;

    /// Checks the argument; returns `None` for a null pointer where null is not allowed.
    fn check(self) -> Option<Self::Checked>;

    /// Returns the communicator if the argument is one: its error handler learns of the call's other arguments.
    #[inline(always)]
    fn communicator(&self) -> Option<Comm> {
        None
    }
}

impl Argument for Comm {
    type Checked = Self;

    #[inline(always)]
    fn check(self) -> Option<Self> {
        Some(self)
    }

    #[inline(always)]
    fn communicator(&self) -> Option<Comm> {
        Some(*self)
    }
}

/// The address of a result.
pub(crate) type Out<T> = Option<OutPointer<T>>;

/// The address of a value that the call reads and writes.
pub(crate) type InOut<T> = Out<T>;

/// The address of a value that the call only reads.
pub(crate) type In<T> = Out<T>;

/// Memory for a text.
pub(crate) type OutText<const ROOM: usize> = Out<TextRoom<ROOM>>;

/// The address of a part of the arguments of `main`, or null.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct MainPart<T>(pub(crate) In<T>);

impl<T> Argument for MainPart<T> {
    type Checked = Self;

    #[inline(always)]
    fn check(self) -> Option<Self> {
        Some(self)
    }
}

/// A text that the call reads.
pub(crate) type Text = In<c_char>;

/// A message buffer.
pub(crate) type UserBuffer = UserAddress<'static>;

/// A function of the program, which must not be null.
pub(crate) type UserFunction<T> = Option<T>;

impl Argument for UserFunction<ErrorFunction> {
    type Checked = ErrorFunction;

    #[inline(always)]
    fn check(self) -> Option<ErrorFunction> {
        self
    }
}

impl<T> Argument for Out<T> {
    type Checked = OutPointer<T>;

    #[inline(always)]
    fn check(self) -> Option<OutPointer<T>> {
        self
    }
}

/// Makes functions of the C caller arguments, which must not be null.
macro_rules! functions {
    ($($function:ty)*) => {$(
        impl Argument for Option<$function> {
            type Checked = $function;

            #[inline(always)]
            fn check(self) -> Option<$function> {
                self
            }
        }
    )*};
}

functions! { QueryFunction FreeFunction CancelFunction }

/// Handles of which C passes arrays: plain integers.
pub(crate) trait Handle {}

impl Handle for Request {}

/// An array of the C caller, whose pointer is null only if the array is empty.
pub(crate) struct Array<T> {
    first: *mut T,
    len: usize,
}

impl<T> Array<T> {
    /// Makes an array of a number of dimensions, neighbours and the like, which is no count of items.
    pub(crate) fn list(len: c_int, first: *mut T, name: &'static str) -> Result<Self, Error> {
        match len {
            ..0 => Err(Error::Argument {
                class: Class::Arg,
                name,
                must: "an array of 0 or more elements",
            }),
            len => Array::of(len, first, name),
        }
    }

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

    /// Returns copies of the elements of an array that the call reads.
    pub(crate) fn values(&self) -> Vec<T>
    where
        T: Copy,
    {
        // SAFETY: the C caller has promised as many initialised elements as its count says during the call (MPI 5.0,
        // section 2.5.2), and no index reaches the count; if there is one, the pointer is not null.
        let value = |index: usize| unsafe { self.first.add(index).read() };
        (0..self.len).map(value).collect()
    }

    /// Writes values to the first elements, as far as the array reaches.
    pub(crate) fn write(&mut self, values: impl IntoIterator<Item = T>) {
        for (index, value) in values.into_iter().take(self.len).enumerate() {
            self.set(index, value);
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
    pub(crate) fn set(&mut self, index: usize, status: &Status, failure: Option<&CommError>) {
        let error = failure.map_or(0, |failure| failure.error.code());
        self.0.set(index, status.with_error(error));
    }
}

/// Raises the error of a null argument. `named` is the function's name, a space, and the argument's name: one text, as
/// hundreds of calls pass it. The call's communicator is the first one among its arguments.
#[cold]
#[inline(never)]
pub(crate) fn refuse(named: &'static str, comm: Option<Comm>) -> c_int {
    // A search by std for a space would be longer than all the rest.
    let space = named.bytes().position(|byte| byte == b' ');
    let parts = space.and_then(|at| Some((named.get(..at)?, named.get(at + 1..)?)));
    let (function, argument) = parts.unwrap_or((named, "argument"));
    let comm = comm.unwrap_or(MPI_COMM_SELF);
    errhandler::raise(function, CommError::new(null(argument), comm))
}

/// Returns the error of a null argument.
#[cold]
#[inline(never)]
pub(crate) fn null(name: &'static str) -> Error {
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
    Datatype Errhandler Group Info Message Op Request
    UserBuffer *const c_void *mut c_void
    InArray<c_int> InArray<Count> InArray<Aint> InArray<Datatype>
    *mut c_int *mut [c_int; 3] *mut Aint *mut Count *mut Datatype
    Plain Large MainArguments CopyFunction DeleteFunction
    *const Request *mut Request *mut Status
}
