//! Environment variables, read while nobody changes them, and random numbers. `init`, `place` and the table of algorithms
//! read them.

use crate::place::PlaceError;
use core::ffi::{CStr, c_char};

/// One that holds a number.
pub(crate) fn number(name: &'static CStr) -> Result<Option<usize>, PlaceError> {
    let parse = |value: &str| value.parse().map_err(|_| wrong(name, "a whole number"));
    text(name).map(parse).transpose()
}

/// One that holds text.
pub(crate) fn text(name: &CStr) -> Option<&'static str> {
    variable(name)?.to_str().ok()
}

/// As it is.
pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero.
    let value: *const c_char = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, so a string of the environment, which nobody changes during MPI_Init and MPI_Finalize.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// The error of a variable that says something else.
pub(crate) fn wrong(name: &'static CStr, must: &'static str) -> PlaceError {
    let got = text(name);
    let name = name.to_str().unwrap_or("an environment variable");
    PlaceError::variable(name, must, got)
}

/// Bytes that nobody can guess; at most 256.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], PlaceError> {
    let mut bytes = [0; N];
    // SAFETY: the buffer is valid for its length. So few bytes come at once or not at all.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    match got == bytes.len() as isize {
        true => Ok(bytes),
        false => Err(PlaceError::last("get random numbers")),
    }
}
