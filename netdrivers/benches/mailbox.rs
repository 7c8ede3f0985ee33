//! What mailboxes cost above the kernel: round trips of 9 bytes and of 1 MiB between two threads over shared memory,
//! interleaved with the kernel's own, as ratios of medians and of the least times. `cargo bench -p pombo-netdrivers --bench mailbox`. With the
//! argument `kernel` or `mailboxes` one thread plays both ends, for a count of instructions.
//!
//! A receiver thread at each end stands by while the two threads make progress themselves: what its looks cost is in the
//! ratio of the turns with four threads, which are long enough for some dozens of them. A hop remains where a thread waits
//! and another one receives for it: that is measured with two threads, so that both have a processor. One waits at a
//! mailbox, and receives what the other, of the same process, posts to its own mailbox and retrieves: the frame goes through
//! the ring to the other processor, and the driver hands it back. The hop is that time less the kernel's half of a round
//! trip, of the same turns.

use pombo_kernel::prelude::*;
use pombo_netdrivers::mailbox::{Mailbox, Mailboxes, Mailing, Message, SizeClasses};
use pombo_netdrivers::shm::{Segment, Shm};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

header! { struct Plain { tag: U32 } }

/// Many and short, so that some are not disturbed.
const ROUNDS: usize = 400;
const SHORT_TRIPS: usize = 500;
/// Beside receiver threads, which look at the others' progress ten times in a millisecond.
const SERVED_TRIPS: usize = 20_000;
const SERVED_ROUNDS: usize = 41;
/// For a count of instructions.
const COUNTED_TRIPS: usize = 10_000;
const LONG_TRIPS: usize = 40;
const LONG_ROUNDS: usize = 11;
const LONG: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

type Comm = Communicator<Plain, Shm, Lent<'static>, Mailing>;
type Rank = Mailboxes<Shm>;
type Pair = (Mailbox<Shm>, Mailbox<Shm>);

fn pair() -> [Shm; 2] {
    let segment = Segment::create(2, 0).expect("a segment");
    [0, 1].map(|rank| {
        let segment = Segment::open(segment.fd()).expect("the same segment");
        Shm::attach(segment, rank, 0).expect("a free rank")
    })
}

/// Returns nanoseconds of half a trip, as both ends run: from when the other end is there.
fn timed(trips: usize, one: impl FnOnce(), other: impl FnOnce() + Send) -> f64 {
    let is_there = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            is_there.store(true, Ordering::Release);
            other();
        });
        while !is_there.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let start = Instant::now();
        one();
        start.elapsed().as_nanos() as f64 / (2 * trips) as f64
    })
}

fn kernel(ranks: &mut [Comm; 2], trips: usize, len: usize) -> f64 {
    let tag = Plain { tag: 1.into() };
    let [one, other] = ranks;
    // What a message is sent from and received into are two buffers at each end, as with mailboxes.
    let (sent, mut here, mut there) = (vec![1; len], vec![1; len], vec![2; len]);
    let answer = vec![2; len];
    timed(
        trips,
        || {
            for _ in 0..trips {
                one.send(Peer(1), tag, &sent).expect("sent");
                one.recv(Exact(tag).into(), &mut here).expect("received");
            }
        },
        || {
            for _ in 0..trips {
                other.recv(Exact(tag).into(), &mut there).expect("received");
                other.send(Peer(0), tag, &answer).expect("sent");
            }
        },
    )
}

fn short(trips: usize, one: &Pair, other: &Pair) -> f64 {
    let trip = |(mine, to): &Pair, first: bool| {
        let (mut sent, mut got) = (Message::new(), Message::new());
        sent.pack(1_u64);
        for _ in 0..trips {
            if first {
                to.post(&mut sent).expect("posted");
            }
            mine.retrieve(&mut got).expect("retrieved");
            if !first {
                to.post(&mut sent).expect("posted");
            }
        }
    };
    timed(trips, || trip(one, true), || trip(other, false))
}

fn long(one: &Pair, other: &Pair) -> f64 {
    let trip = |(mine, to): &Pair, first: bool| {
        let (mut sent, mut got) = (Message::new(), Message::new());
        sent.pack(&vec![1_u8; LONG - 9][..]);
        for _ in 0..LONG_TRIPS {
            let mut ticket = None;
            if first {
                ticket = to.post_large(&mut sent).ok();
            }
            mine.retrieve(&mut got).expect("retrieved");
            if !first {
                ticket = to.post_large(&mut sent).ok();
            }
            sent = ticket.expect("posted").wait().expect("retrieved");
        }
    };
    timed(LONG_TRIPS, || trip(one, true), || trip(other, false))
}

/// Makes round trips of both ends in one thread; returns nanoseconds of half a trip.
fn alone(trips: usize, comms: &mut [Comm; 2], pairs: &[Pair; 2], of_kernel: bool) -> f64 {
    let tag = Plain { tag: 1.into() };
    let [one, other] = comms;
    let mut bytes = [0; 9];
    let (mut sent, mut got) = (Message::new(), [(); 2].map(|()| Message::new()));
    sent.pack(1_u64);
    let start = Instant::now();
    for _ in 0..trips {
        if of_kernel {
            one.send(Peer(1), tag, &bytes).expect("sent");
            other.recv(Exact(tag).into(), &mut bytes).expect("received");
            other.send(Peer(0), tag, &bytes).expect("sent");
            one.recv(Exact(tag).into(), &mut bytes).expect("received");
        } else {
            let ends = pairs.iter().zip(pairs.iter().rev());
            for (((_, to), (mine, _)), got) in ends.zip(&mut got) {
                to.post(&mut sent).expect("posted");
                mine.retrieve(got).expect("retrieved");
            }
        }
    }
    start.elapsed().as_nanos() as f64 / (2 * trips) as f64
}

/// Returns two processes' mailboxes, each with its own and a clone of the other's.
fn mailboxes() -> ([Rank; 2], [Pair; 2]) {
    let ranks = pair().map(|shm| Rank::new(shm, SizeClasses::default()).expect("it fits"));
    let meet = |rank: &Rank| {
        let (me, other) = (rank.me().0, 1 - rank.me().0);
        let mine = rank
            .create(&format!("rank {me}"), PATIENCE)
            .expect("a new name");
        let to = rank
            .clone_mailbox(&format!("rank {other}"), PATIENCE)
            .expect("there");
        // The other may still need this one.
        let (mut message, mut hello) = (Message::new(), Message::new());
        to.post(&mut message).expect("posted");
        mine.retrieve(&mut hello).expect("retrieved");
        drop(hello);
        (mine, to)
    };
    let pairs = std::thread::scope(|scope| {
        let other = scope.spawn(|| meet(&ranks[1]));
        [meet(&ranks[0]), other.join().expect("no panic")]
    });
    (ranks, pairs)
}

/// Posts to a mailbox of the same process and retrieves; returns nanoseconds for each message.
fn to_itself(own: &Mailbox<Shm>) -> f64 {
    let (mut sent, mut got) = (Message::new(), Message::new());
    sent.pack(1_u64);
    let start = Instant::now();
    for _ in 0..SHORT_TRIPS {
        own.post(&mut sent).expect("posted");
        own.retrieve(&mut got).expect("retrieved");
    }
    start.elapsed().as_nanos() as f64 / SHORT_TRIPS as f64
}

/// Returns nanoseconds that a cache line takes from one thread to the other.
fn line() -> f64 {
    let turn = AtomicUsize::new(0);
    let play = |first: usize| {
        for trip in 0..SHORT_TRIPS {
            while turn.load(Ordering::Acquire) != 2 * trip + first {
                std::hint::spin_loop();
            }
            turn.store(2 * trip + first + 1, Ordering::Release);
        }
    };
    timed(SHORT_TRIPS, || play(0), || play(1))
}

/// Runs `f` while a receiver thread serves each of these processes.
fn with_receivers<R>(ranks: &[Rank], f: impl FnOnce() -> R) -> R {
    let is_over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        for rank in ranks {
            let is_over = || is_over.load(Ordering::Acquire);
            scope.spawn(move || rank.serve(is_over).expect("the channel works"));
        }
        let result = f();
        is_over.store(true, Ordering::Release);
        ranks.iter().for_each(Rank::wake);
        result
    })
}

/// Runs `f` while another thread of the process waits for a message, and receives for all.
fn with_driver<R>(idle: &Mailbox<Shm>, f: impl FnOnce() -> R) -> R {
    let waits = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            waits.store(true, Ordering::Release);
            idle.retrieve(&mut Message::new()).expect("retrieved");
        });
        while !waits.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let result = f();
        idle.post(&mut Message::new()).expect("posted");
        result
    })
}

/// Returns the median and the least.
fn typical(mut times: Vec<f64>) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    [times[times.len() / 2], times[0]]
}

fn print(what: &str, [kernel, least_kernel]: [f64; 2], [mail, least_mail]: [f64; 2]) {
    println!(
        "{what}: kernel {kernel:.0} ns, mailboxes {mail:.0} ns, ratio {:.2}; at least {least_kernel:.0} and {least_mail:.0} ns, ratio {:.2}",
        mail / kernel,
        least_mail / least_kernel
    );
}

fn main() {
    let mut comms = pair().map(|shm| Comm::new(shm).expect("it fits"));
    let (ranks, pairs) = mailboxes();
    if let Some(of) = std::env::args().find(|it| it == "kernel" || it == "mailboxes") {
        alone(COUNTED_TRIPS, &mut comms, &pairs, of == "kernel");
        return;
    }
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        times[0].push(alone(SHORT_TRIPS, &mut comms, &pairs, true));
        times[1].push(alone(SHORT_TRIPS, &mut comms, &pairs, false));
    }
    let [alone_kernel, alone_mail] = times.map(typical);
    print(
        "9 bytes, one thread plays both ends",
        alone_kernel,
        alone_mail,
    );
    let [one, other] = pairs;
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(kernel(&mut comms, SHORT_TRIPS, 9));
        times[1].push(short(SHORT_TRIPS, &one, &other));
    }
    for _ in 0..LONG_ROUNDS {
        times[2].push(kernel(&mut comms, LONG_TRIPS, LONG));
        times[3].push(long(&one, &other));
    }
    let [short_kernel, short_mail, long_kernel, long_mail] = times.map(typical);
    println!("a cache line takes {:.0} ns", line());
    print("9 bytes, half a round trip", short_kernel, short_mail);
    print("1 MiB, half a round trip", long_kernel, long_mail);
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..SERVED_ROUNDS {
        times[0].push(kernel(&mut comms, SERVED_TRIPS, 9));
        let served = |ranks| with_receivers(ranks, || short(SERVED_TRIPS, &one, &other));
        times[1].push(served(&ranks[1..]));
        times[2].push(served(&ranks));
    }
    let [own_kernel, at_one, at_both] = times.map(typical);
    let what = "9 bytes, half a round trip, with a receiver thread at one end";
    print(what, own_kernel, at_one);
    let what = "9 bytes, half a round trip, with a receiver thread at each end";
    print(what, own_kernel, at_both);
    // The other process may keep the name.
    let idle = with_receivers(&ranks[1..], || ranks[0].create("idle", PATIENCE));
    let idle = idle.expect("a new name");
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        times[0].push(kernel(&mut comms, SHORT_TRIPS, 9));
        times[1].push(with_driver(&idle, || to_itself(&one.0)));
        times[2].push(line());
    }
    let [own_kernel, itself, line] = times.map(typical);
    print(
        "9 bytes, received by another thread that waits",
        own_kernel,
        itself,
    );
    println!(
        "of that the hop, as a difference: {:.0} ns, at least {:.0} ns; a cache line takes {:.0} ns, at least {:.0}",
        itself[0] - own_kernel[0],
        itself[1] - own_kernel[1],
        line[0],
        line[1]
    );
}
