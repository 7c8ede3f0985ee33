//! The identity of a host: ranks of the same host can share memory. Only `bootstrap` uses it.

use super::byte_order::BIG_ENDIAN;
use crate::settings::FAKE_HOST;
use core::ffi::CStr;
use rustix::fs::{Mode, OFlags, open, stat};
use rustix::io;
use rustix::system::uname;

/// Returns a number that is equal for processes that can share memory and monitor each other's processes: those of one
/// boot of one machine, one network namespace, one process namespace.
pub(super) fn machine() -> u64 {
    let mut bytes = [0; 64];
    let boot = read(c"/proc/sys/kernel/random/boot_id", &mut bytes);
    let mut machine = hash(START, boot.unwrap_or_default());
    if boot.is_none() {
        // Some systems hide the boot id.
        machine = hash(machine, uname().nodename().to_bytes());
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

/// Returns the number of those ranks of a host that share memory: an emulator may run some for another machine, whose
/// words have other bytes.
pub(super) fn sharing(host: u64) -> u64 {
    host & !1 | u64::from(BIG_ENDIAN)
}

/// Computes FNV-1a: names differ by accident only, and nobody gains by a collision.
pub(super) fn hash(start: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(start, step)
}

/// The hash of no bytes.
pub(super) const START: u64 = 0xcbf2_9ce4_8422_2325;

fn read<'a>(path: &CStr, into: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let read = io::read(&file, &mut *into).ok();
    into.get(..read.filter(|read| *read > 0)?)
}

/// Returns the inode of a file; 0 if the system hides it.
fn inode(path: &CStr) -> u64 {
    stat(path).map_or(0, |found| found.st_ino)
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
