//! How much memory a segment takes once all pairs of many ranks have communicated.

use alloc::vec::Vec;

use pombo_kernel::channel::{Channel, Cookie, Event};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use crate::shm::sync::Ordering;
use crate::shm::{FRAME_LIMIT, Segment, Shm};

const RANKS: usize = 64;
const KIB: usize = 1 << 10;

/// Sends that many frames of `len` bytes from every rank to every other one.
fn all_to_all(ranks: &mut [Shm], frames: usize, len: usize) {
    let bytes = alloc::vec![7; len];
    let pairs = (0..RANKS).flat_map(|from| (0..RANKS).map(move |to| (from, to)));
    for (from, to) in pairs.filter(|(from, to)| from != to) {
        for _ in 0..frames {
            let parts = [Part::Bytes(&bytes)];
            let sent = ranks[from].try_send(Peer(to as u16), Cookie::COPY, &parts);
            sent.expect("room");
            let mut arrived = false;
            // A rank lets the sender of a burst write on before it looks again.
            while !arrived {
                let polled = ranks[to].poll(|event| arrived |= matches!(event, Event::Arrival(_)));
                polled.expect("a poll");
            }
        }
    }
}

/// Returns the memory of the segment in KiB, for each rank.
fn memory(segment: &Segment) -> usize {
    let file = rustix::fs::fstat(segment).expect("the segment's file");
    file.st_blocks as usize / 2 / RANKS
}

#[test]
fn a_segment_stays_small() {
    for is_shared in [false, true] {
        let segment = Segment::create(RANKS, 0).expect("a segment");
        let attach = |rank| {
            let own = Segment::open(segment.fd()).expect("the segment");
            Shm::attach(own, rank, 0).expect("a rank")
        };
        let mut ranks: Vec<Shm> = (0..RANKS).map(attach).collect();
        // Long frames lie beside the rings if each rank has a processor of its own.
        for word in &segment.header().cpus.0 {
            word.store(u64::from(is_shared).wrapping_sub(1), Ordering::Relaxed);
        }
        segment.header().quota.store(0, Ordering::Relaxed);
        segment.header().epoch.0.fetch_add(1, Ordering::SeqCst);
        all_to_all(&mut ranks, 1, 8);
        assert!(memory(&segment) <= KIB, "{} KiB", memory(&segment));
        all_to_all(&mut ranks, (KIB << 10).div_ceil(FRAME_LIMIT), FRAME_LIMIT);
        assert!(memory(&segment) <= 4 * KIB, "{} KiB", memory(&segment));
    }
}
