//! Lines to standard error and to files, without an allocator.

use crate::text::Text;
use core::ffi::{CStr, c_int};

/// A line of bounded length; what is beyond is cut.
pub(crate) type Line = Text<LONGEST>;

const LONGEST: usize = 511;

/// Writes the line, and its end, to standard error in one piece.
pub(crate) fn error(line: &Line) {
    write(libc::STDERR_FILENO, line);
}

/// Appends the line to a file; false if it cannot be opened.
pub(crate) fn append(path: &CStr, line: &Line) -> bool {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero; the mode is given because of O_CREAT.
    let file = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if file >= 0 {
        write(file, line);
        // SAFETY: this function opened it.
        unsafe { libc::close(file) };
    }
    file >= 0
}

fn write(file: c_int, line: &Line) {
    let (text, mut bytes) = (line.as_bytes(), [b'\n'; LONGEST + 1]);
    if let Some(place) = bytes.get_mut(..text.len()) {
        place.copy_from_slice(text);
    }
    // SAFETY: the bytes are there. A short write cuts the message; there is nowhere to say so.
    let _ = unsafe { libc::write(file, bytes.as_ptr().cast(), text.len() + 1) };
}
