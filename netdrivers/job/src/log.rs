//! Lines to standard error and to files, without an allocator.

use crate::fixed_string::Text;
use core::ffi::CStr;
use pombo_netdrivers::Errno;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};
use rustix::io;
use rustix::process::geteuid;

/// A line of bounded length; what is beyond is cut.
pub type LogLine = Text<LONGEST>;

const LONGEST: usize = 511;

/// Writes the line, and its end, to standard error in one piece.
pub fn error(line: &LogLine) {
    // SAFETY: a process that has closed its standard error hears of that from the system, as it would from C.
    let stderr = unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
    // There is nowhere to say that it failed.
    let _ = write(stderr, line);
}

/// Appends the line to a file, which is made if need be. The name may be one that others can guess, in a directory where
/// they may write: what they have put there is left alone.
///
/// # Errors
/// What the system says; `EPERM` if it is no plain file of this user alone, `ELOOP` if it is a link.
pub fn append(path: &CStr, line: &LogLine) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
    // Nobody waits for the reader of a pipe.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::RUSR | Mode::WUSR)?;
    match is_own(&fstat(&file)?) {
        true => Ok(write(&file, line)?),
        false => Err(Errno(libc::EPERM)),
    }
}

/// Whether it is a plain file of this user that has no second name.
fn is_own(file: &Stat) -> bool {
    let is_plain = FileType::from_raw_mode(file.st_mode) == FileType::RegularFile;
    is_plain && file.st_nlink == 1 && file.st_uid == geteuid().as_raw()
}

/// In one piece, if the system takes it so.
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
