//! Tests of parts that one process can run without system calls.

mod boards;
mod burst;
mod cma;
mod event_count;
mod long_frames;
mod mail;
mod mail_wait;
mod memory;
mod ring;
mod single_copy;
mod wake_socket;

use alloc::vec::Vec;

use super::{Segment, Shm};

/// Creates two ranks in this process.
fn pair() -> [Shm; 2] {
    let segment = Segment::create(2, 0).expect("a segment");
    [0, 1].map(|rank| {
        let own = Segment::open(segment.fd()).expect("the segment");
        Shm::attach(own, rank, 0).expect("a rank")
    })
}

/// The bytes of a numbered frame.
fn frame(number: u64, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (number as usize * 31 + i * 7) as u8)
        .collect()
}

/// A generator of numbers.
struct Lcg(u64);

impl Lcg {
    /// Returns the next number, which is less than `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % n
    }
}
