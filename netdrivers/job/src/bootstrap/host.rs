//! The identity of a host: ranks of the same host can share memory. Only `bootstrap` uses it.

use crate::settings::FAKE_HOST;
use core::ffi::CStr;
use core::mem::MaybeUninit;

/// Returns a number that is equal for processes that can share memory and monitor each other's processes: those of one
/// boot of one machine, one network namespace, one process namespace.
pub(super) fn machine() -> u64 {
    let mut bytes = [0; 64];
    let boot = read(c"/proc/sys/kernel/random/boot_id", &mut bytes);
    let mut machine = hash(START, boot.unwrap_or_default());
    if boot.is_none() {
        machine = hash(machine, name(&mut bytes));
    }
    for space in [c"/proc/self/ns/net", c"/proc/self/ns/pid"] {
        machine = hash(machine, &inode(space).to_le_bytes());
    }
    machine
}

/// Returns the host that `POMBO_FAKE_HOST` names, for tests.
pub(super) fn configured() -> Option<u64> {
    FAKE_HOST.text().map(|name| hash(START, name.as_bytes()))
}

/// Computes FNV-1a: names differ by accident only, and nobody gains by a collision.
pub(super) fn hash(start: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(start, step)
}

/// The hash of no bytes.
pub(super) const START: u64 = 0xcbf2_9ce4_8422_2325;

fn read<'a>(path: &CStr, into: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the path is a C string; the buffer is valid for its length; the descriptor is closed once.
    let read = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let read = libc::read(file, into.as_mut_ptr().cast(), into.len());
        libc::close(file);
        read
    };
    into.get(..usize::try_from(read).ok().filter(|read| *read > 0)?)
}

/// Returns the host name, for systems that hide the boot id.
fn name(into: &mut [u8]) -> &[u8] {
    // SAFETY: the buffer is valid for its length.
    unsafe { libc::gethostname(into.as_mut_ptr().cast(), into.len()) };
    into
}

/// Returns the inode of a file; 0 if the system hides it.
fn inode(path: &CStr) -> u64 {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path is a C string, and the buffer has the size that the call fills.
    if unsafe { libc::stat(path.as_ptr(), stat.as_mut_ptr()) } != 0 {
        return 0;
    }
    // SAFETY: the call has filled it.
    unsafe { stat.assume_init() }.st_ino
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_the_same_twice_and_differs_from_others() {
        assert_eq!(machine(), machine());
        assert_ne!(hash(START, b"a"), hash(START, b"b"));
        assert_ne!(hash(hash(START, b"a"), b"b"), hash(hash(START, b"b"), b"a"));
    }
}
