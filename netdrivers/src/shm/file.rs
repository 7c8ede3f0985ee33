//! System calls below a segment: an anonymous file of fixed size, and its mapping. Only `Segment` uses it.

use core::ffi::CStr;
use core::ptr::{NonNull, null_mut};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{
    MemfdFlags, Mode, OFlags, SealFlags, SeekFrom, fcntl_add_seals, fcntl_get_seals, ftruncate,
    memfd_create, open, seek,
};
use rustix::io;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::error::ShmError;
use crate::Errno;
use crate::wait::cpu_quota::FileReader;

/// A file to be mapped.
#[derive(Debug)]
pub(super) struct File(OwnedFd);

/// The size of a segment's file can never change, so that no access to the mapping can fault.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

impl File {
    /// Creates an anonymous file of that many zero bytes, which occupy no memory yet.
    pub(super) fn create(size: usize) -> Result<Self, ShmError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let anonymous = |flags| memfd_create(c"pombo", flags);
        let file = match anonymous(flags | MemfdFlags::NOEXEC_SEAL) {
            // Linux before 6.3 does not know the flag, and does not require it either.
            Err(io::Errno::INVAL) => anonymous(flags),
            file => file,
        };
        let file = file.map_err(ShmError::failed("memfd_create"))?;
        ftruncate(&file, size as u64).map_err(ShmError::failed("ftruncate"))?;
        fcntl_add_seals(&file, SEALS).map_err(ShmError::failed("fcntl"))?;
        Ok(File(file))
    }

    /// Opens the file of a descriptor that the caller keeps.
    pub(super) fn duplicate(fd: i32) -> Result<Self, ShmError> {
        // SAFETY: no memory is passed; a number that is no descriptor is an error. Nobody else closes the new one.
        let file = unsafe {
            let duplicate = Errno::check(libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3));
            duplicate.map(|fd| OwnedFd::from_raw_fd(fd))
        };
        file.map(File).map_err(ShmError::failed("fcntl"))
    }

    /// Creates a file from a received descriptor.
    pub(super) fn of(descriptor: OwnedFd) -> Self {
        File(descriptor)
    }

    pub(super) fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Returns the size, if it is sealed.
    pub(super) fn fixed_size(&self) -> Result<usize, ShmError> {
        if !fcntl_get_seals(&self.0).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err(ShmError::NotASegment);
        }
        let size = seek(&self.0, SeekFrom::End(0));
        size.map(|size| size as usize)
            .map_err(ShmError::failed("lseek"))
    }

    /// Reads the first bytes.
    pub(super) fn start(&self, into: &mut [u8]) -> Result<(), ShmError> {
        match io::pread(&self.0, &mut *into, 0) {
            Ok(read) if read == into.len() => Ok(()),
            _ => Err(ShmError::NotASegment),
        }
    }

    /// Maps the whole file, whose size must be sealed.
    pub(super) fn map(&self, size: usize) -> Result<Mapping, ShmError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the system chooses affects no existing memory.
        let base = unsafe { mmap(null_mut(), size, access, MapFlags::SHARED, &self.0, 0) };
        let base = base.and_then(|base| NonNull::new(base.cast()).ok_or(io::Errno::NOMEM));
        base.map(|base| Mapping { base, size })
            .map_err(ShmError::failed("mmap"))
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reads small pseudo-files such as those of `/proc`.
pub(super) struct ProcFiles;

impl FileReader for ProcFiles {
    fn read<'a>(&mut self, path: &CStr, into: &'a mut [u8]) -> Option<&'a [u8]> {
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let read = io::read(&file, &mut *into).ok()?;
        into.get(..read)
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
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.size) };
    }
}
