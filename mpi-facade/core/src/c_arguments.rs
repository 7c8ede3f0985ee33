//! What a C call passes by address, except message buffers: addresses of results, arrays, and functions. The functions of
//! `mpi-facade/abi` take these types where C passes a pointer, and nothing else makes one. So the value itself carries
//! the promise that the standard requires of the C caller, and reading or writing through it is safe.

use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr::{NonNull, null_mut};
use core::slice;

/// An address in the C caller's memory. The caller promises for the duration of the call (MPI 5.0, section 2.3): a `T`
/// may be written there where the argument is OUT, and is there where it is IN or INOUT.
#[repr(transparent)]
pub struct OutPointer<T>(NonNull<T>);

impl<T> Clone for OutPointer<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OutPointer<T> {}

impl<T> OutPointer<T> {
    /// Writes a result.
    #[inline(always)]
    pub fn set(self, value: T) {
        // SAFETY: the C caller has promised memory for a result, which nobody else uses during the call (see the type).
        unsafe { self.0.write(value) };
    }

    /// Reads the value.
    #[inline(always)]
    pub fn get(self) -> T
    where
        T: Copy,
    {
        // SAFETY: the C caller has promised an initialised value, which stays during the call (see the type).
        unsafe { self.0.read() }
    }

    /// Returns the address of an element of an array that begins here, of which the C caller has promised more than `index`.
    pub fn element(self, index: usize) -> Self {
        // SAFETY: the element lies in the array that the C caller has promised.
        OutPointer(unsafe { self.0.add(index) })
    }

    /// Returns the address of a part that begins `AT` bytes behind the start.
    #[inline(always)]
    pub fn part<U, const AT: usize>(self) -> OutPointer<U> {
        const {
            assert!(AT + size_of::<U>() <= size_of::<T>());
            assert!(AT.is_multiple_of(align_of::<U>()) && align_of::<U>() <= align_of::<T>());
        }
        // SAFETY: the part lies inside a `T`, for which the C caller has promised memory during the call.
        OutPointer(unsafe { self.0.byte_add(AT) }.cast())
    }
}

/// Memory for a text of the length that the standard's constant for it gives.
pub type TextRoom<const ROOM: usize> = [MaybeUninit<u8>; ROOM];

impl<const ROOM: usize> OutPointer<TextRoom<ROOM>> {
    /// Writes a text, truncated if it is too long, and its terminating zero. Returns its length without the zero.
    #[inline]
    pub fn set_text(mut self, text: &[u8]) -> c_int {
        // SAFETY: the C caller has promised ROOM bytes, which nobody else uses during the call (see the type).
        write_text(unsafe { self.0.as_mut() }, text)
    }
}

#[inline(never)]
fn write_text(room: &mut [MaybeUninit<u8>], text: &[u8]) -> c_int {
    let len = text.len().min(room.len().saturating_sub(1));
    let bytes = text.iter().take(len).chain(&[0]);
    for (to, byte) in room.iter_mut().zip(bytes) {
        to.write(*byte);
    }
    len as c_int
}

impl OutPointer<c_char> {
    /// Returns a text that the call reads, without its terminating zero. The C caller promises that there is one (MPI
    /// 5.0, section 2.6), and that the text stays unchanged during the call.
    pub fn text<'a>(self) -> &'a [u8] {
        // SAFETY: the C caller has promised a terminated text, which stays unchanged during the call.
        unsafe { CStr::from_ptr(self.0.as_ptr()) }.to_bytes()
    }

    /// Writes a text and its terminating zero to memory of `room` bytes; it is truncated if it is too long. The C caller
    /// promises that much memory (MPI 5.0, sections 10.2 and 16.3).
    pub fn set_text_in(self, room: usize, text: &[u8]) {
        // SAFETY: the C caller has promised `room` bytes, which nobody else uses during the call.
        let room = unsafe { slice::from_raw_parts_mut(self.0.as_ptr().cast(), room) };
        if !room.is_empty() {
            write_text(room, text);
        }
    }
}

#[cfg(test)]
impl<T> OutPointer<T> {
    /// Makes the address of memory that lives as long as the test.
    pub(crate) fn of(memory: &mut MaybeUninit<T>) -> Self {
        OutPointer(NonNull::from(memory).cast())
    }
}

/// A function of the program that copies an attribute, or one of the two that the ABI defines as small numbers. The C
/// caller promises a function of the standard's type, which stays callable until its key and all attributes with the key
/// are gone (MPI 5.0, section 7.7.2).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct CopyFunction(*const c_void);

impl CopyFunction {
    /// Calls the function for an object's handle; returns the value of the duplicate, if it gets the attribute. The
    /// error is the function's own.
    pub(crate) fn call(
        self,
        object: usize,
        keyval: c_int,
        extra_state: *mut c_void,
        value: *mut c_void,
    ) -> Result<Option<*mut c_void>, c_int> {
        type Function = unsafe extern "C" fn(
            usize,
            c_int,
            *mut c_void,
            *mut c_void,
            *mut *mut c_void,
            *mut c_int,
        ) -> c_int;
        match self.0.addr() {
            // MPI_COMM_NULL_COPY_FN and its like.
            0 => return Ok(None),
            // MPI_COMM_DUP_FN and its like.
            1 => return Ok(Some(value)),
            _ => {}
        }
        let (mut copied, mut flag) = (null_mut(), 0);
        // SAFETY: the C caller has promised a function of this type (see the type); handles are as large as pointers.
        let code = unsafe {
            let function: Function = transmute(self.0);
            function(object, keyval, extra_state, value, &mut copied, &mut flag)
        };
        match code {
            0 => Ok((flag != 0).then_some(copied)),
            code => Err(code),
        }
    }
}

/// A function of the program that is told when an attribute is deleted, or none. The C caller's promise is that of a
/// [`CopyFunction`].
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct DeleteFunction(*const c_void);

impl DeleteFunction {
    /// Calls the function for an object's handle. The error is the function's own.
    pub(crate) fn call(
        self,
        object: usize,
        keyval: c_int,
        value: *mut c_void,
        extra_state: *mut c_void,
    ) -> Result<(), c_int> {
        type Function = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;
        if self.0.is_null() {
            return Ok(());
        }
        // SAFETY: the C caller has promised a function of this type (see the type); handles are as large as pointers.
        let code = unsafe {
            let function: Function = transmute(self.0);
            function(object, keyval, value, extra_state)
        };
        match code {
            0 => Ok(()),
            code => Err(code),
        }
    }
}

/// A function of the program that handles errors. The C caller promises one of the standard's type, which stays callable
/// until its handle is freed and no object has it (MPI 5.0, section 9.3).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct ErrorFunction(NonNull<c_void>);

impl ErrorFunction {
    /// Calls the function with an object's handle and an error code.
    pub(crate) fn call(self, mut object: usize, mut code: c_int) {
        type Function = unsafe extern "C" fn(*mut usize, *mut c_int, ...);
        // SAFETY: the C caller has promised a function of this type (see the type); handles are as large as pointers.
        unsafe {
            let function: Function = transmute(self.0);
            function(&mut object, &mut code);
        }
    }
}

/// The arguments of `main`: an array of texts, or null. The C caller promises as many as the count beside it says, which
/// stay unchanged during the call.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct MainArguments(*const Option<OutPointer<c_char>>);

impl MainArguments {
    /// Iterates over the first `count` arguments, up to one that is null.
    pub fn iter<'a>(self, count: c_int) -> impl Iterator<Item = &'a [u8]> {
        let count = match self.0.is_null() {
            true => 0,
            false => usize::try_from(count).unwrap_or(0),
        };
        // SAFETY: the C caller has promised this many elements during the call (see the type).
        let arguments = (0..count).map_while(move |index| unsafe { self.0.add(index).read() });
        arguments.map(OutPointer::text)
    }
}

/// An array with an element for every rank of the call's communicator, or as many as another argument says. The C caller
/// promises its values, which stay unchanged during the call, where the standard has this rank's call read it (MPI 5.0,
/// sections 2.5.2, 6.5 to 6.10 and 6.12).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct InArray<T>(*const T);

impl<T: Copy> InArray<T> {
    /// Returns whether the pointer is null.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the first `count` elements; `None` if there are some and the pointer is null.
    pub fn list<U>(self, count: usize, element: impl Fn(T) -> U) -> Option<Vec<U>> {
        let elements = || (0..count).map(|index| element(self.get(index))).collect();
        (!self.is_null() || count == 0).then(elements)
    }

    /// Returns the element of a rank of the communicator.
    pub(crate) fn get(self, rank: usize) -> T {
        // SAFETY: the C caller has promised a value for each rank of the communicator, or of the count, during the
        // call (see the type); calls ask for no other, and have seen that the array is not null.
        unsafe { self.0.add(rank).read() }
    }
}
