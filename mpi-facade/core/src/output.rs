//! Lines to standard error and to files, without an allocator.

use core::ffi::{CStr, c_int};
use core::fmt;

/// A line of bounded length; what is beyond is cut.
pub(crate) struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Line {
    /// Empty.
    pub(crate) const fn new() -> Self {
        Line {
            bytes: [0; 512],
            len: 0,
        }
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // One byte stays for the end of the line.
        let room = self.bytes.len() - 1 - self.len;
        let cut = &text.as_bytes()[..text.len().min(room)];
        if let Some(place) = self.bytes.get_mut(self.len..self.len + cut.len()) {
            place.copy_from_slice(cut);
            self.len += cut.len();
        }
        Ok(())
    }
}

/// Writes the line, and its end, to standard error in one piece.
pub(crate) fn error(line: &Line) {
    write(libc::STDERR_FILENO, line);
}

/// Appends the line to a file; nothing happens if it cannot be opened.
pub(crate) fn append(path: &CStr, line: &Line) {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero; the mode is given because of O_CREAT.
    let file = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if file >= 0 {
        write(file, line);
        // SAFETY: this function opened it.
        unsafe { libc::close(file) };
    }
}

fn write(file: c_int, line: &Line) {
    let mut bytes = line.bytes;
    bytes[line.len] = b'\n';
    // SAFETY: the bytes are there. A short write cuts the message; there is nowhere to say so.
    let _ = unsafe { libc::write(file, bytes.as_ptr().cast(), line.len + 1) };
}
