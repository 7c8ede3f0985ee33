//! What a C call passes by address, except message buffers: addresses of results, and arrays. The functions of
//! `mpi-facade/abi` take these types where C passes a pointer, and nothing else makes one. So the value itself carries
//! the promise that the standard requires of the C caller, and reading or writing through it is safe.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

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

#[cfg(test)]
impl<T> OutPointer<T> {
    /// Makes the address of memory that lives as long as the test.
    pub(crate) fn of(memory: &mut MaybeUninit<T>) -> Self {
        OutPointer(NonNull::from(memory).cast())
    }
}

/// An array with an element for every rank of the call's communicator. The C caller promises its values, which stay
/// unchanged during the call, where the standard has this rank's call read it (MPI 5.0, sections 6.5 to 6.10 and 6.12).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct RankArray<T>(*const T);

impl<T: Copy> RankArray<T> {
    /// Returns whether the pointer is null.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the element of a rank of the communicator.
    pub(crate) fn get(self, rank: usize) -> T {
        // SAFETY: the C caller has promised a value for each rank of the communicator during the call (see the type);
        // calls ask for no other, and have seen that the array is not null.
        unsafe { self.0.add(rank).read() }
    }
}
