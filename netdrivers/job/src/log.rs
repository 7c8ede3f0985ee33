//! Lines to standard error and to files, without an allocator.

use crate::fixed_string::Text;
use core::ffi::{CStr, c_int};
use core::mem::zeroed;
use pombo_netdrivers::Errno;

/// A line of bounded length; the rest is truncated.
pub type LogLine = Text<LONGEST>;

const LONGEST: usize = 511;

/// Writes the line with a newline to standard error in one call.
pub fn error(line: &LogLine) {
    // There is no place to report a failure.
    let _ = write(libc::STDERR_FILENO, line);
}

/// Appends the line to a file, which is created if needed. Others may be able to guess the name and to write to its
/// directory: a file of theirs is not touched.
///
/// # Errors
/// The error of the system; `EPERM` if the file is no plain file of this user alone, `ELOOP` if it is a link.
pub fn append(path: &CStr, line: &LogLine) -> Result<(), Errno> {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // A pipe without a reader must not block.
    let flags = flags | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the path ends with a zero; the mode is given because of O_CREAT.
    let number = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if number < 0 {
        return Err(Errno::last());
    }
    let file = LogFile(number);
    match file.is_own()? {
        true => write(file.0, line),
        false => Err(Errno(libc::EPERM)),
    }
}

struct LogFile(c_int);

impl LogFile {
    /// Returns whether it is a plain file of this user without a second hard link.
    fn is_own(&self) -> Result<bool, Errno> {
        // SAFETY: zeros are a valid record.
        let mut record: libc::stat = unsafe { zeroed() };
        // SAFETY: the descriptor is open, and the record is valid for the answer.
        if unsafe { libc::fstat(self.0, &mut record) } != 0 {
            return Err(Errno::last());
        }
        let is_plain = record.st_mode & libc::S_IFMT == libc::S_IFREG && record.st_nlink == 1;
        // SAFETY: the call takes nothing and touches no memory.
        Ok(is_plain && record.st_uid == unsafe { libc::geteuid() })
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        // SAFETY: the descriptor was opened for this value, which is not used any more.
        unsafe { libc::close(self.0) };
    }
}

/// Writes the line with a newline, in one call if the system accepts it.
fn write(file: c_int, line: &LogLine) -> Result<(), Errno> {
    let (text, mut bytes) = (line.as_bytes(), [b'\n'; LONGEST + 1]);
    if let Some(place) = bytes.get_mut(..text.len()) {
        place.copy_from_slice(text);
    }
    let mut rest = bytes.get(..=text.len()).unwrap_or_default();
    while !rest.is_empty() {
        // SAFETY: the bytes are valid for their length.
        let written = unsafe { libc::write(file, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => rest = rest.get(written..).unwrap_or_default(),
            _ => return Err(Errno::last()),
        }
    }
    Ok(())
}
