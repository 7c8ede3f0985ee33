//! System calls below a segment: an anonymous file of fixed size, and its mapping. Only `Segment` uses it.

use core::ffi::CStr;
use core::ptr::NonNull;

use super::error::ShmError;
use crate::wait::cpu_quota::FileReader;

/// An owned descriptor, which is closed when dropped.
#[derive(Debug)]
pub(super) struct OwnedFd(i32);

impl OwnedFd {
    /// Takes ownership of a descriptor that a system call has returned.
    pub(super) fn returned(fd: i32, call: &'static str) -> Result<Self, ShmError> {
        check(fd, call).map(Self)
    }

    pub(super) fn fd(&self) -> i32 {
        self.0
    }
}

impl Drop for OwnedFd {
    fn drop(&mut self) {
        // SAFETY: the descriptor is owned, and this is its last use.
        unsafe { libc::close(self.0) };
    }
}

/// A file to be mapped.
#[derive(Debug)]
pub(super) struct File(OwnedFd);

/// The size of a segment's file can never change, so that no access to the mapping can fault.
const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

impl File {
    /// Creates an anonymous file of that many zero bytes, which occupy no memory yet.
    pub(super) fn create(size: usize) -> Result<Self, ShmError> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let file = match Self::anonymous(flags | libc::MFD_NOEXEC_SEAL) {
            // Linux before 6.3 does not know the flag `MFD_NOEXEC_SEAL`, and does not require it either.
            Err(error) if error.is(libc::EINVAL) => Self::anonymous(flags)?,
            file => file?,
        };
        // SAFETY: no memory is passed.
        let sized = unsafe { libc::ftruncate(file.fd(), size as libc::off_t) };
        check(sized, "ftruncate")?;
        // SAFETY: no memory is passed.
        let sealed = unsafe { libc::fcntl(file.fd(), libc::F_ADD_SEALS, SEALS) };
        check(sealed, "fcntl")?;
        Ok(file)
    }

    fn anonymous(flags: libc::c_uint) -> Result<Self, ShmError> {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"pombo".as_ptr(), flags) };
        OwnedFd::returned(fd, "memfd_create").map(File)
    }

    /// Opens the file of a descriptor that the caller keeps.
    pub(super) fn duplicate(fd: i32) -> Result<Self, ShmError> {
        // SAFETY: no memory is passed; a number that is no descriptor is an error.
        let fd = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
        OwnedFd::returned(fd, "fcntl").map(File)
    }

    /// Creates a file from a received descriptor.
    pub(super) fn of(descriptor: OwnedFd) -> Self {
        File(descriptor)
    }

    pub(super) fn fd(&self) -> i32 {
        self.0.fd()
    }

    /// Returns the size, if it is sealed.
    pub(super) fn fixed_size(&self) -> Result<usize, ShmError> {
        // SAFETY: no memory is passed.
        let seals = unsafe { libc::fcntl(self.fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(ShmError::NotASegment);
        }
        // SAFETY: no memory is passed.
        let size = unsafe { libc::lseek(self.fd(), 0, libc::SEEK_END) };
        usize::try_from(size).map_err(|_| ShmError::last("lseek"))
    }

    /// Reads the first bytes.
    pub(super) fn start(&self, into: &mut [u8]) -> Result<(), ShmError> {
        // SAFETY: the buffer is valid for its length.
        let read = unsafe { libc::pread(self.fd(), into.as_mut_ptr().cast(), into.len(), 0) };
        if read == into.len() as isize {
            Ok(())
        } else {
            Err(ShmError::NotASegment)
        }
    }

    /// Maps the whole file, whose size must be sealed.
    pub(super) fn map(&self, size: usize) -> Result<Mapping, ShmError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let null = core::ptr::null_mut();
        // SAFETY: a new mapping at an address that the system chooses affects no existing memory.
        let base = unsafe { libc::mmap(null, size, access, libc::MAP_SHARED, self.fd(), 0) };
        match NonNull::new(base.cast()) {
            Some(base) if base.as_ptr() != libc::MAP_FAILED.cast() => Ok(Mapping { base, size }),
            _ => Err(ShmError::last("mmap")),
        }
    }
}

/// Reads small pseudo-files such as those of `/proc`.
pub(super) struct ProcFiles;

impl FileReader for ProcFiles {
    fn read<'a>(&mut self, path: &CStr, into: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: the path is a C string.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        let file = OwnedFd::returned(fd, "open").ok()?;
        // SAFETY: the buffer is valid for its length.
        let read = unsafe { libc::read(file.fd(), into.as_mut_ptr().cast(), into.len()) };
        into.get(..usize::try_from(read).ok()?)
    }
}

/// Shared memory at a fixed, page-aligned address, until it is dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    size: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and hands out addresses only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Returns the address of `len` bytes at that offset.
    pub(super) fn at(&self, offset: usize, len: usize) -> NonNull<u8> {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.size));
        // SAFETY: the bytes lie inside the mapping, as was just checked.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned, and users of its addresses hold them no longer than it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size) };
    }
}

/// Converts the result of a system call.
pub(super) fn check(result: i32, call: &'static str) -> Result<i32, ShmError> {
    if result < 0 {
        Err(ShmError::last(call))
    } else {
        Ok(result)
    }
}
