//! Error numbers of the system as text, for the errors of drivers and of other callers of the system.

use core::ffi::CStr;
use pombo_kernel::text::{ToText, WriteText, fill};

/// An error number, shown as "No such device (error number 19)".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

impl Errno {
    /// Returns the error number of the call that has just failed.
    #[inline]
    pub fn last() -> Self {
        // SAFETY: the location of this thread's error number is always valid.
        Errno(unsafe { *libc::__errno_location() })
    }

    /// Converts the result of a call, which is negative on failure.
    ///
    /// # Errors
    /// The error of the call.
    #[inline]
    pub fn check(result: i32) -> Result<i32, Self> {
        match result < 0 {
            true => Err(Self::last()),
            false => Ok(result),
        }
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Errno(error.raw_os_error())
    }
}

pombo_kernel::text::display_as_text! { Errno }

impl ToText for Errno {
    fn put_text(&self, out: &mut dyn WriteText) {
        let (number, mut text) = (self.0, [0_u8; 64]);
        // SAFETY: the place is valid for its size, in which the text ends with a zero.
        let (failed, text) = unsafe {
            let place = text.as_mut_ptr().cast();
            let failed = libc::strerror_r(number, place, text.len());
            (failed, CStr::from_ptr(place))
        };
        match text.to_str().ok() {
            Some(text) if failed == 0 => fill!(out, "{} (error number {})", text, number),
            _ => fill!(out, "error number {}", number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std::string::ToString;

    #[test]
    fn numbers_have_names() {
        let shown = Errno(libc::ENODEV).to_string();
        assert_eq!(shown, "No such device (error number 19)");
        assert!(Errno(-1).to_string().contains("-1"));
    }
}
