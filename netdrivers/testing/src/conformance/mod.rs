//! The conformance suite of all drivers, over [`Channel`]. A driver's tests call [`conformance!`](crate::conformance!)
//! with a [`Harness`]; nothing else uses this.

mod rank;
mod run;
mod supervised_channel;

pub use run::{HANG, threads};
pub use supervised_channel::{SupervisedChannel, Supervisor};

use core::time::Duration;
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use rank::{Rank, frame, pattern};

/// Runs worlds of one driver.
pub trait Harness {
    /// The driver.
    type Channel: Channel;

    /// Runs `body` as each of `peers` ranks, as threads or as processes, and returns when all have succeeded. Panics if
    /// one has failed, or hangs for longer than [`HANG`]. `test` is the path of the calling test, crate first: ranks
    /// that are processes are the same test program, started again with that test alone.
    fn run(test: &str, peers: u16, body: fn(Self::Channel));
}

/// Makes one `#[test]` of every test of the suite, for the given [`Harness`](crate::conformance::Harness). Use it once
/// per module. `conformance!(World: sends_to_itself)` makes those that are named, for a driver that cannot pass them all.
#[macro_export]
macro_rules! conformance {
    ($harness:ty) => {
        $crate::conformance!($harness:
            says_who_it_is
            keeps_order_and_delivers_once
            carries_every_size
            gathers_parts
            reads_in_place
            sends_to_itself
            is_full_and_has_room_again
            refuses_what_cannot_go
            polls_nothing_from_nobody
            talks_all_to_all
            never_turns_the_clock_back
            wakes_for_a_frame
            wakes_for_room
            reports_a_lost_peer_after_its_frames
            tells_a_sender_without_room_of_a_loss
        );
    };
    ($harness:ty: $($test:ident)+) => {
        $(
            #[test]
            fn $test() {
                let path = concat!(module_path!(), "::", stringify!($test));
                $crate::conformance::$test::<$harness>(path);
            }
        )+
    };
}

/// An idle count at which every driver that ever sleeps does sleep.
const LONG_IDLE: u32 = 1 << 20;

/// Checks that peer numbers are the indices, and that every limit is at least the smallest one allowed.
pub fn says_who_it_is<W: Harness>(test: &str) {
    W::run(test, 3, |channel| {
        let mut rank = Rank::new(channel);
        assert_eq!(rank.channel.peers(), 3);
        assert!(rank.me().index() < 3);
        for to in rank.everyone() {
            assert!(rank.channel.limit(to) >= MIN_LIMIT);
            rank.send(to, &rank.me().0.to_le_bytes());
        }
        for from in rank.everyone() {
            assert_eq!(rank.receive(from), from.0.to_le_bytes());
        }
        rank.leave();
    });
}

/// Sends frames of mixed sizes from every rank to every rank at once; they arrive in order, whole and once.
pub fn keeps_order_and_delivers_once<W: Harness>(test: &str) {
    W::run(test, 3, |channel| Rank::new(channel).exchange(700));
}

/// Does the same as [`keeps_order_and_delivers_once`] with many peers.
pub fn talks_all_to_all<W: Harness>(test: &str) {
    W::run(test, 8, |channel| Rank::new(channel).exchange(60));
}

/// Sends every small size, and the sizes around every power of two and around the limit.
pub fn carries_every_size<W: Harness>(test: &str) {
    W::run(test, 2, |channel| {
        let mut rank = Rank::new(channel);
        let peer = Peer(1 - rank.me().0);
        for (number, size) in sizes(rank.channel.limit(peer)).into_iter().enumerate() {
            rank.send(peer, &pattern(number as u64, size));
            assert_eq!(rank.receive(peer), pattern(number as u64, size));
        }
        rank.leave();
    });
}

fn sizes(limit: usize) -> Vec<usize> {
    let around = |n: usize| n.saturating_sub(10)..=n + 10;
    let mut sizes: Vec<usize> = (1..=MIN_LIMIT * 3)
        .chain((6..40).flat_map(|bits| around(1 << bits)))
        .chain(around(limit))
        .filter(|size| (1..=limit).contains(size))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Sends parts in place and held, empty ones among them, few and many; each send arrives as one frame.
pub fn gathers_parts<W: Harness>(test: &str) {
    W::run(test, 2, |channel| {
        let mut rank = Rank::new(channel);
        let peer = Peer(1 - rank.me().0);
        let limit = rank.channel.limit(peer);
        for total in [1, 7, 8, 56, 57, 64, 100, MIN_LIMIT, limit - 1, limit] {
            for pieces in [1, 2, 3, 17, 40] {
                let whole = pattern(total as u64, total);
                rank.send_parts(peer, &cut(&whole.as_slice(), pieces));
                assert_eq!(
                    rank.receive(peer),
                    whole,
                    "{total} bytes in {pieces} pieces"
                );
            }
        }
        rank.leave();
    });
}

/// Cuts into unequal parts that are by turns in place, held by a lender, and empty.
fn cut<'a>(whole: &'a &'a [u8], pieces: usize) -> Vec<Part<'a>> {
    let bound = |i: usize| whole.len() * i * i / (pieces * pieces);
    let mut parts = Vec::new();
    for i in 0..pieces {
        let (start, end) = (bound(i), bound(i + 1));
        parts.push(match i % 2 {
            0 => Part::Held {
                source: whole,
                offset: start,
                len: end - start,
                swapped: false,
            },
            _ => Part::Bytes(&whole[start..end]),
        });
        if i % 3 == 0 {
            parts.push(Part::Bytes(&[]));
        }
    }
    parts
}

/// Checks that an arrival shows its sender, its length, any head up to the smallest limit, and any part of itself.
pub fn reads_in_place<W: Harness>(test: &str) {
    W::run(test, 2, |channel| {
        let mut rank = Rank::new(channel);
        let (sender, reader) = (Peer(0), Peer(1));
        // The limit for the other peer, not for the rank itself.
        let limit = rank.channel.limit(Peer(1 - rank.me().0));
        let sizes = [1, 8, 63, MIN_LIMIT - 1, MIN_LIMIT, MIN_LIMIT + 1, limit];
        let frames = sizes.map(|size| pattern(size as u64, size.min(limit)));
        if rank.me() == sender {
            frames.iter().for_each(|bytes| rank.send(reader, bytes));
            return rank.leave();
        }
        let mut expected = frames.iter();
        while expected.len() > 0 {
            rank.step(0, |event| {
                if let (Event::Arrival(arrival), Some(bytes)) = (event, expected.next()) {
                    assert_eq!(arrival.from(), sender);
                    inspect(&arrival, bytes);
                }
            });
        }
        for bytes in frames {
            assert_eq!(rank.receive(sender), bytes);
        }
        rank.leave();
    });
}

fn inspect(arrival: &impl Arrival, whole: &[u8]) {
    assert_eq!(arrival.len(), whole.len());
    assert!(!arrival.is_empty());
    for n in 0..=MIN_LIMIT {
        assert_eq!(arrival.head(n), whole.get(..n), "head of {n}");
    }
    let stride = 1 + whole.len() / 13;
    for offset in (0..=whole.len()).step_by(stride) {
        for len in (0..=whole.len() - offset).step_by(stride) {
            let mut read = Vec::new();
            arrival.for_each_chunk(offset, len, |piece| read.extend_from_slice(piece));
            assert_eq!(read, whole[offset..offset + len], "{len} from {offset}");
        }
    }
}

/// Exchanges frames in a world of one.
pub fn sends_to_itself<W: Harness>(test: &str) {
    W::run(test, 1, |channel| Rank::new(channel).exchange(500));
}

/// Checks that a channel that nobody reads becomes full, keeps its frames, and has room again once it is read.
pub fn is_full_and_has_room_again<W: Harness>(test: &str) {
    W::run(test, 1, |channel| {
        let mut rank = Rank::new(channel);
        let me = rank.me();
        for size in [1, 100, rank.channel.limit(me)] {
            let (mut sent, mut received) = (0, 0);
            for _ in 0..3 {
                while rank.try_send(me, &pattern(sent, size)) {
                    sent += 1;
                    assert!(sent < 1 << 24, "the queue has no bound");
                }
                assert!(sent > received, "an empty queue must take a frame");
                rank.step(0, |_| ());
                while let Some(bytes) = rank.received(me) {
                    assert_eq!(bytes, pattern(received, size));
                    received += 1;
                }
            }
            while received < sent {
                assert_eq!(rank.receive(me), pattern(received, size));
                received += 1;
            }
        }
        rank.leave();
    });
}

/// Checks that frames that are too long and peers that do not exist are refused, and that nothing arrives.
pub fn refuses_what_cannot_go<W: Harness>(test: &str) {
    W::run(test, 2, |channel| {
        let mut rank = Rank::new(channel);
        for to in rank.everyone() {
            let limit = rank.channel.limit(to);
            for long in [limit + 1, limit + MIN_LIMIT, limit * 9] {
                let long = vec![0; long];
                let sent = rank.channel.try_send(to, Cookie(0), &[Part::Bytes(&long)]);
                assert_eq!(sent, Err(ChannelError::TooLong { limit }));
            }
            let part = Part::Bytes(&[0; MIN_LIMIT]);
            let many = vec![part; limit / MIN_LIMIT + 1];
            let sent = rank.channel.try_send(to, Cookie(0), &many);
            assert_eq!(sent, Err(ChannelError::TooLong { limit }));
        }
        for nobody in [Peer(2), Peer(3), Peer(u16::MAX)] {
            let sent = rank
                .channel
                .try_send(nobody, Cookie(0), &[Part::Bytes(&[1])]);
            assert_eq!(sent, Err(ChannelError::NoSuchPeer(nobody)));
        }
        rank.exchange(10);
    });
}

/// Checks that polls report nothing while nobody sends.
pub fn polls_nothing_from_nobody<W: Harness>(test: &str) {
    W::run(test, 1, |mut channel| {
        for _ in 0..100 {
            let polled = channel.poll(|_| panic!("nothing can have happened"));
            assert_eq!(polled, Ok(false));
        }
        Rank::new(channel).exchange(1);
    });
}

/// Checks that the clock advances and never goes back.
pub fn never_turns_the_clock_back<W: Harness>(test: &str) {
    W::run(test, 2, |channel| {
        let mut rank = Rank::new(channel);
        let peer = Peer(1 - rank.me().0);
        let start = rank.channel.now();
        let mut before = start;
        for round in 0..500 {
            rank.send(peer, &pattern(round, 8));
            assert_eq!(rank.receive(peer), pattern(round, 8));
            let now = rank.channel.now();
            assert!(now >= before, "from {before} back to {now}");
            before = now;
        }
        while rank.channel.now() == start {
            rank.step(0, |_| ());
        }
        rank.leave();
    });
}

/// Checks that every frame wakes its receiver, whenever it arrives. Rank 0 sleeps as soon as it finds nothing. Rank 1
/// sleeps too, or is awake; both pause a little, so that in some rounds the answer arrives while rank 0 falls asleep.
/// Where a context switch takes long, as on a loaded machine, rank 0 ends earlier.
pub fn wakes_for_a_frame<W: Harness>(test: &str) {
    W::run(test, 2, |channel| {
        let mut rank = Rank::new(channel);
        let (me, peer) = (rank.me(), Peer(1 - rank.me().0));
        let pause = |rounds: u64| (0..rounds).for_each(|_| core::hint::spin_loop());
        let start = std::time::Instant::now();
        for round in 0.. {
            let mut last = round == 8000 || start.elapsed() > HANG / 10;
            let awake = me == Peer(1) && round % 4 != 0;
            if me == Peer(0) {
                rank.send(peer, &[last.into()]);
                pause(round % 61);
            }
            let came = loop {
                if let Some(came) = rank.received(peer) {
                    break came;
                }
                if !awake {
                    rank.step(LONG_IDLE, |_| ());
                } else if !rank.poll(|_| ()) {
                    std::thread::yield_now();
                }
            };
            if me == Peer(1) {
                last = came == [1];
                pause(round % 47);
                rank.send(peer, &pattern(round, 8));
            }
            if last {
                break;
            }
        }
        rank.leave();
    });
}

/// Checks that a sender that sleeps because its peer is full wakes when the peer reads.
pub fn wakes_for_room<W: Harness>(test: &str) {
    W::run(test, 2, |channel| {
        let mut rank = Rank::new(channel);
        let (me, peer) = (rank.me(), Peer(1 - rank.me().0));
        for round in 0..20_u8 {
            // The ranks alternate; the reader is slow until a frame says that the sender found no room.
            if me.0 == u16::from(round % 2) {
                fill_and_sleep(&mut rank, peer);
            } else {
                while rank.receive(peer)[0] == 0 {
                    std::thread::sleep(Duration::from_micros(200));
                }
                while rank.receive(peer)[0] != 2 {}
            }
        }
        rank.leave();
    });
}

fn fill_and_sleep<C: Channel>(rank: &mut Rank<C>, peer: Peer) {
    let mut bytes = vec![0; rank.channel.limit(peer)];
    while rank.try_send(peer, &bytes) {}
    bytes[0] = 1;
    for last in [1; 100].into_iter().chain([2]) {
        bytes[0] = last;
        while !rank.try_send(peer, &bytes) {
            rank.step(LONG_IDLE, |_| ());
        }
    }
}

/// Checks that a peer that leaves is reported once, after all its frames, that sends to it fail, and that the other
/// peers are not affected.
pub fn reports_a_lost_peer_after_its_frames<W: Harness>(test: &str) {
    W::run(test, 3, |channel| {
        let mut rank = Rank::new(channel);
        let gone = Peer(2);
        if rank.me() == gone {
            for to in [Peer(0), Peer(1)] {
                (0..20).for_each(|i| rank.send(to, &frame(gone, to, i, MIN_LIMIT)));
            }
            return;
        }
        for i in 0..20 {
            let me = rank.me();
            assert_eq!(rank.receive(gone), frame(gone, me, i, MIN_LIMIT));
        }
        while !rank.lost(gone) {
            rank.step(LONG_IDLE, |_| ());
        }
        let sent = rank.channel.try_send(gone, Cookie(0), &[Part::Bytes(&[1])]);
        assert_eq!(sent, Err(ChannelError::PeerLost(gone)));
        // `Rank` checks that the loss is not reported again.
        let peer = Peer(1 - rank.me().0);
        for i in 0..200 {
            rank.send(peer, &pattern(i, 50));
            assert_eq!(rank.receive(peer), pattern(i, 50));
        }
    });
}

/// Checks that a sender does not wait for ever for room at a peer that leaves.
pub fn tells_a_sender_without_room_of_a_loss<W: Harness>(test: &str) {
    W::run(test, 2, |channel| {
        let mut rank = Rank::new(channel);
        let gone = Peer(1);
        if rank.me() == gone {
            rank.receive(Peer(0));
            std::thread::sleep(Duration::from_millis(20));
            return;
        }
        let bytes = vec![7; rank.channel.limit(gone)];
        loop {
            let sent = rank
                .channel
                .try_send(gone, Cookie(0), &[Part::Bytes(&bytes)]);
            match sent {
                Ok(Sent::Done) => {}
                Ok(Sent::Later) | Err(ChannelError::Full) => rank.step(LONG_IDLE, |_| ()),
                Err(error) => break assert_eq!(error, ChannelError::PeerLost(gone)),
            }
        }
        while !rank.lost(gone) {
            rank.step(LONG_IDLE, |_| ());
        }
    });
}
