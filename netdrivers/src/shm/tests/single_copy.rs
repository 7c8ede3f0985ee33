//! Only memory of the process that the segment names is read for an exposed buffer, whatever a frame says.

use core::mem::MaybeUninit;

use pombo_kernel::channel::{Arrival, Channel, Cookie, CopyTarget, Event, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::{Part, Source};

use super::pair;
use crate::shm::{FRAME_LIMIT, Shm, SingleCopy};
use crate::std::process::Command;
use crate::std::vec;
use crate::std::vec::Vec;

/// Bytes at a fixed address.
struct Fixed(Vec<u8>);

impl Source for Fixed {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
        self.0.get(offset..offset + len).map(<[u8]>::as_ptr)
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.0[offset..offset + into.len()]);
    }
}

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

/// Creates two ranks, the first of which exposes what is too long for a frame.
fn exposing_pair() -> [Shm; 2] {
    let mut ranks = pair();
    ranks[0].set_single_copy(SingleCopy::AtLeast(1));
    ranks
}

/// Exposes bytes to the second rank.
fn expose(sender: &mut Shm, bytes: &Fixed) {
    let payload = Part::Held {
        source: bytes,
        offset: 0,
        len: bytes.len(),
        swapped: false,
    };
    let sent = sender.try_send(Peer(1), Cookie(7), &[Part::Bytes(b"head"), payload]);
    assert_eq!(sent, Ok(Sent::Later));
}

/// Returns what the second rank reads of them.
fn read(receiver: &mut Shm, bytes: &Fixed) -> Option<Vec<u8>> {
    let (mut pieces, mut fetched) = (Pieces::default(), false);
    let polled = receiver.poll(|event| {
        if let Event::Arrival(frame) = event {
            assert_eq!(frame.head(4), Some(&b"head"[..]));
            fetched = frame.read_into(4, bytes.len(), &mut pieces);
        }
    });
    assert_eq!(polled, Ok(true));
    fetched.then_some(pieces.0)
}

/// Exposes bytes to the second rank; returns what it read, and the event that the first one got.
fn exposed(ranks: &mut [Shm; 2], bytes: &Fixed) -> (Option<Vec<u8>>, &'static str) {
    let [sender, receiver] = ranks;
    expose(sender, bytes);
    let read = read(receiver, bytes);
    let mut outcome = "nothing";
    let polled = sender.poll(|event| {
        outcome = match event {
            Event::Completed(Cookie(7)) => "it was read",
            Event::Again(Cookie(7)) => "send it again",
            _ => "something else",
        };
    });
    assert_eq!(polled, Ok(true));
    (read, outcome)
}

#[test]
fn the_process_of_the_segment_is_read() {
    let (mut ranks, bytes) = (exposing_pair(), Fixed(vec![5; 2 * FRAME_LIMIT]));
    let (read, outcome) = exposed(&mut ranks, &bytes);
    assert_eq!((read.as_ref(), outcome), (Some(&bytes.0), "it was read"));
}

#[test]
fn another_process_is_not_read() {
    let mut child = Command::new("sleep").arg("600").spawn().expect("a process");
    let (mut ranks, bytes) = (exposing_pair(), Fixed(vec![5; 2 * FRAME_LIMIT]));
    ranks[1].segment().set_pid(0, child.id().cast_signed());
    let outcome = exposed(&mut ranks, &bytes);
    child.kill().expect("a running process");
    child.wait().expect("a child");
    assert_eq!(outcome, (None, "send it again"));
}

#[test]
fn of_a_rank_without_a_process_nothing_is_read() {
    let (mut ranks, bytes) = (exposing_pair(), Fixed(vec![5; 2 * FRAME_LIMIT]));
    ranks[1].segment().set_pid(0, 0);
    assert_eq!(exposed(&mut ranks, &bytes), (None, "send it again"));
}

/// Only long messages that both ranks send at once, and only over a long line.
#[test]
fn both_ways_messages_are_read_in_place_over_a_long_line() {
    let mut ranks = pair();
    if !ranks[0].wait_policy.spins() {
        crate::std::eprintln!(
            "skipped: the ranks share a processor, where the length alone decides"
        );
        return;
    }
    let supports =
        |ranks: &[Shm; 2], len, both_ways| ranks[0].supports_single_copy(Peer(1), len, both_ways);
    assert!(!supports(&ranks, 1 << 20, true));
    ranks[0].connections[1].seem_far();
    assert!(supports(&ranks, 1 << 20, true));
    assert!(!supports(&ranks, 1 << 20, false));
    assert!(!supports(&ranks, 256 << 10, true));
    ranks[0].set_single_copy(SingleCopy::Never);
    assert!(!supports(&ranks, 1 << 20, true));
}

/// Acknowledgements tell the distance, once for each look that finds new ones.
#[test]
fn a_look_at_acknowledgements_tells_the_distance_once() {
    let mut ranks = exposing_pair();
    let bytes = Fixed(vec![1; FRAME_LIMIT + 1]);
    exposed(&mut ranks, &bytes);
    let learnt = |ranks: &[Shm; 2], number| {
        let connection = &ranks[0].connections[1];
        let began = crate::wait::now();
        let ack = connection.ack(number, began).is_some();
        (ack, connection.distance_from_acks().is_some())
    };
    assert_eq!(learnt(&ranks, 1), (true, false), "it was learnt before");
    assert_eq!(learnt(&ranks, 2), (false, false));
    expose(&mut ranks[0], &bytes);
    assert_eq!(read(&mut ranks[1], &bytes).as_ref(), Some(&bytes.0));
    assert_eq!(learnt(&ranks, 2), (true, true));
    assert_eq!(learnt(&ranks, 2), (true, false));
}
