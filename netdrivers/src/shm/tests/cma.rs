//! Reading memory by its descriptor: unreadable memory is refused, whatever the descriptor says.

use core::mem::MaybeUninit;

use pombo_kernel::channel::CopyTarget;

use crate::shm::cma::{DESCRIPTOR_LEN, RemoteBuffer, describe};
use crate::shm::process_token::ProcessToken;
use crate::shm::read_acks::ReadAck;
use crate::std::process::Command;
use crate::std::vec::Vec;

/// Collects the chunks.
#[derive(Default)]
struct Pieces(Vec<u8>);

impl CopyTarget for Pieces {
    fn append(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }

    fn spare_capacity(&mut self, _len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        None
    }
}

fn own() -> i32 {
    crate::std::process::id().cast_signed()
}

fn read(descriptor: &[u8], at: usize, len: usize) -> Option<Vec<u8>> {
    read_of(own(), descriptor, at, len)
}

fn read_of(process: i32, descriptor: &[u8], at: usize, len: usize) -> Option<Vec<u8>> {
    let (head, remote) = RemoteBuffer::parse(descriptor, Some(process));
    assert!(head.is_empty());
    let mut pieces = Pieces::default();
    let fetched = remote.read_into(at, len, &mut pieces);
    assert_eq!(remote.ack() == ReadAck::Read, fetched);
    fetched.then_some(pieces.0)
}

#[test]
fn what_is_described_is_read() {
    let token = ProcessToken::new().expect("random numbers");
    let bytes: Vec<_> = (0..100_000).map(|i| (i * 7) as u8).collect();
    let descriptor = describe(bytes.as_ptr(), bytes.len(), &token);
    for (at, len) in [(0, 100_000), (1, 50_001), (99_999, 1), (100_000, 0)] {
        assert!(read(&descriptor, at, len).as_deref() == Some(&bytes[at..at + len]));
    }
    for (at, len) in [(0, 100_001), (100_000, 1), (usize::MAX, 2)] {
        assert!(read(&descriptor, at, len).is_none());
    }
}

#[test]
fn another_process_of_that_number_is_told_apart() {
    let token = ProcessToken::new().expect("random numbers");
    let bytes = [5; 100];
    let mut child = Command::new("sleep").arg("600").spawn().expect("a process");
    let other = child.id().cast_signed();
    for process in [other, 0, -1, i32::MAX] {
        let descriptor = describe(bytes.as_ptr(), bytes.len(), &token);
        assert!(read_of(process, &descriptor, 0, 100).is_none(), "{process}");
    }
    child.kill().expect("a running process");
    child.wait().expect("a child");
    // The same memory has another token, as if the PID had been reused.
    let mut descriptor = describe(bytes.as_ptr(), bytes.len(), &token);
    descriptor[DESCRIPTOR_LEN - 1] ^= 1;
    assert!(read(&descriptor, 0, 100).is_none());
}

#[test]
fn memory_that_is_not_there_is_refused() {
    let token = ProcessToken::new().expect("random numbers");
    for address in [core::ptr::null(), core::ptr::without_provenance(usize::MAX)] {
        for len in [1, 100_000, usize::MAX] {
            let descriptor = describe(address, len, &token);
            assert!(read(&descriptor, 0, len.min(1 << 20)).is_none());
        }
    }
    assert!(read(&[0xFF; DESCRIPTOR_LEN], 0, 1).is_none());
    assert!(read(&[], 0, 1).is_none());
}

/// After a refusal no further read is tried.
#[test]
fn who_refuses_does_not_read() {
    let token = ProcessToken::new().expect("random numbers");
    let bytes = [5; 100];
    let descriptor = describe(bytes.as_ptr(), bytes.len(), &token);
    let (_, remote) = RemoteBuffer::parse(&descriptor, None);
    assert!(!remote.read_into(0, 100, &mut Pieces::default()));
    assert_eq!(remote.ack(), ReadAck::Refused);
    let (_, unread) = RemoteBuffer::parse(&descriptor, Some(own()));
    assert_eq!(unread.ack(), ReadAck::Read);
}
