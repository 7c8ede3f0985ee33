//! Lines to standard error and to files, without an allocator.

use crate::fixed_string::Text;
use core::ffi::{CStr, c_int};
use core::mem::zeroed;
use pombo_netdrivers::Errno;

/// A line of bounded length; what is beyond is cut.
pub type LogLine = Text<LONGEST>;

const LONGEST: usize = 511;

/// Writes the line, and its end, to standard error in one piece.
pub fn error(line: &LogLine) {
    // There is nowhere to say that it failed.
    let _ = write(libc::STDERR_FILENO, line);
}

/// Appends the line to a file, which is made if need be. The name may be one that others can guess, in a directory where
/// they may write: what they have put there is left alone.
///
/// # Errors
/// What the system says; `EPERM` if it is no plain file of this user alone, `ELOOP` if it is a link.
pub fn append(path: &CStr, line: &LogLine) -> Result<(), Errno> {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // Nobody waits for the reader of a pipe.
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
    /// Whether it is a plain file of this user that has no second name.
    fn is_own(&self) -> Result<bool, Errno> {
        // SAFETY: zeros are a valid record.
        let mut record: libc::stat = unsafe { zeroed() };
        // SAFETY: an open descriptor, and a place for the answer.
        if unsafe { libc::fstat(self.0, &mut record) } != 0 {
            return Err(Errno::last());
        }
        let is_plain = record.st_mode & libc::S_IFMT == libc::S_IFREG && record.st_nlink == 1;
        // SAFETY: no demands.
        Ok(is_plain && record.st_uid == unsafe { libc::geteuid() })
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        // SAFETY: it was opened for this value, which nobody uses any more.
        unsafe { libc::close(self.0) };
    }
}

/// In one piece, if the system takes it so.
fn write(file: c_int, line: &LogLine) -> Result<(), Errno> {
    let (text, mut bytes) = (line.as_bytes(), [b'\n'; LONGEST + 1]);
    if let Some(place) = bytes.get_mut(..text.len()) {
        place.copy_from_slice(text);
    }
    let mut rest = bytes.get(..=text.len()).unwrap_or_default();
    while !rest.is_empty() {
        // SAFETY: the bytes are there.
        let written = unsafe { libc::write(file, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => rest = rest.get(written..).unwrap_or_default(),
            _ => return Err(Errno::last()),
        }
    }
    Ok(())
}
