//! Lines to standard error and to files, without an allocator.

use crate::fixed_string::Text;
use core::ffi::CStr;
use pombo_netdrivers::Errno;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};
use rustix::io;
use rustix::process::geteuid;

/// A line of bounded length; the rest is truncated.
pub type LogLine = Text<LONGEST>;

const LONGEST: usize = 511;

/// Writes the line with a newline to standard error in one call.
pub fn error(line: &LogLine) {
    // SAFETY: nothing of this process owns the number; if the program has closed it, the system refuses the write.
    let stderr = unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
    // There is no place to report a failure.
    let _ = write(stderr, line);
}

/// Appends the line to a file, which is created if needed. Others may be able to guess the name and to write to its
/// directory: a file of theirs is not touched.
///
/// # Errors
/// The error of the system; `EPERM` if the file is no plain file of this user alone, `ELOOP` if it is a link.
pub fn append(path: &CStr, line: &LogLine) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
    // A pipe without a reader must not block.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::RUSR | Mode::WUSR)?;
    match is_own(&fstat(&file)?) {
        true => Ok(write(&file, line)?),
        false => Err(Errno(libc::EPERM)),
    }
}

/// Returns whether it is a plain file of this user without a second hard link.
fn is_own(file: &Stat) -> bool {
    let is_plain = FileType::from_raw_mode(file.st_mode) == FileType::RegularFile;
    is_plain && file.st_nlink == 1 && file.st_uid == geteuid().as_raw()
}

/// Writes the line with a newline, in one call if the system accepts it.
fn write(file: impl AsFd, line: &LogLine) -> io::Result<()> {
    let (text, mut bytes) = (line.as_bytes(), [b'\n'; LONGEST + 1]);
    if let Some(place) = bytes.get_mut(..text.len()) {
        place.copy_from_slice(text);
    }
    let mut rest = bytes.get(..=text.len()).unwrap_or_default();
    while !rest.is_empty() {
        match io::write(&file, rest)? {
            0 => return Err(io::Errno::IO),
            written => rest = rest.get(written..).unwrap_or_default(),
        }
    }
    Ok(())
}
