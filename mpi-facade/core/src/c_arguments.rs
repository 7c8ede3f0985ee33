//! What a C call passes by address, but for message buffers: places of results, arrays. The functions of
//! `mpi-facade/abi` take these types where C passes a pointer, and nothing else makes one. So the value itself
//! carries what the standard has its caller promise, and whoever reads or writes through it is safe.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// A place in the memory of the C caller, who promises for the time of the call (MPI 5.0, section 2.3): it may be
/// written as a `T` where the argument is OUT, and holds one where it is IN or INOUT.
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

    /// Reads what the caller has put there.
    #[inline(always)]
    pub fn get(self) -> T
    where
        T: Copy,
    {
        // SAFETY: the C caller has promised an initialised value, which stays during the call (see the type).
        unsafe { self.0.read() }
    }

    /// A part that begins so many bytes behind the start.
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

/// Room for a text, as long as the standard's constant for it says.
pub type TextRoom<const ROOM: usize> = [MaybeUninit<u8>; ROOM];

impl<const ROOM: usize> OutPointer<TextRoom<ROOM>> {
    /// Writes a text, cut if it is too long, and its closing zero. Gives its length without the zero.
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
    /// Of memory that lives as long as the test.
    pub(crate) fn of(memory: &mut MaybeUninit<T>) -> Self {
        OutPointer(NonNull::from(memory).cast())
    }
}

/// An array with a place for every rank of the call's communicator: that is what the C caller promises, with values
/// that stay during the call, where the standard has this rank's call read it (MPI 5.0, sections 6.5 to 6.10 and
/// 6.12).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct RankArray<T>(*const T);

impl<T: Copy> RankArray<T> {
    /// Is there an array?
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The value of a rank of the communicator.
    pub(crate) fn get(self, rank: usize) -> T {
        // SAFETY: the C caller has promised a value for each rank of the communicator during the call (see the type);
        // calls ask for no other, and have seen that the array is not null.
        unsafe { self.0.add(rank).read() }
    }
}
