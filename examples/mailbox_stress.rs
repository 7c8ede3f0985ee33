//! Eight threads in each rank, of which four post to mailboxes of all ranks and four retrieve, for some seconds: every
//! message has a checksum, and none may be lost or doubled. Every other rank has a receiver thread besides.
//!
//! ```text
//! pombo run -n 4 target/release/examples/mailbox_stress 3
//! pombo run --net udp -n 4 target/release/examples/mailbox_stress 600
//! ```

use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::mailbox::{Error, Mailbox, Mailboxes, Message, SizeClasses};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const RANKS: usize = 64;
const THREADS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);
/// As long as a thread that retrieves waits before it looks whether all is over.
const GLANCE: Duration = Duration::from_millis(50);

const DATA: u8 = 1;
/// A thread has posted its last message; how many it has posted to this mailbox follows.
const LAST: u8 = 2;

/// What the threads of a rank have counted.
#[derive(Default)]
struct Counts {
    retrieved: AtomicU64,
    announced: AtomicU64,
    /// Threads of all ranks that have posted their last message.
    ended: AtomicU64,
    sum: AtomicU64,
}

/// The next number of a generator (xorshift).
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Posts until the time is over, then tells every mailbox how much it has posted there.
fn post<L: Channel + Send>(to: &[Mailbox<L>], seed: u64, until: Instant) -> Result<u64, Error> {
    let (mut state, mut bytes) = (seed, Vec::new());
    let mut posted = vec![0_u64; to.len()];
    let mut message = Message::new();
    while Instant::now() < until {
        let rank = random(&mut state) as usize % to.len();
        let len = match random(&mut state) % 100 {
            0 => 140_000 + random(&mut state) % 100_000,
            1..10 => random(&mut state) % 40_000,
            _ => random(&mut state) % 300,
        };
        bytes.clear();
        bytes.extend((0..len).map(|_| (random(&mut state) >> 20) as u8));
        message.clear();
        message.pack(DATA).pack(checksum(&bytes)).pack(&bytes[..]);
        posted[rank] += 1;
        if len < 140_000 - 100 && message.packed_len() < 131_000 {
            to[rank].post(&mut message)?;
        } else {
            message = to[rank].post_large(&mut message)?.wait()?;
        }
    }
    for (mailbox, count) in to.iter().zip(&posted) {
        message.clear();
        mailbox.post(message.pack(LAST).pack(*count))?;
    }
    Ok(posted.iter().sum())
}

/// Retrieves until every thread has said how much it has posted, and all of it is here.
fn retrieve<L: Channel + Send>(
    from: &Mailbox<L>,
    counts: &Counts,
    posters: u64,
) -> Result<(), Error> {
    let mut message = Message::new();
    let is_over = || {
        counts.ended.load(Ordering::SeqCst) == posters
            && counts.retrieved.load(Ordering::SeqCst) == counts.announced.load(Ordering::SeqCst)
    };
    while !is_over() {
        match from.retrieve_timeout(&mut message, GLANCE) {
            Err(Error::TimedOut) => continue,
            other => other?,
        }
        match message.unpack::<u8>()? {
            DATA => {
                let sum: u64 = message.unpack()?;
                assert_eq!(
                    checksum(message.unpack::<&[u8]>()?),
                    sum,
                    "a message has changed"
                );
                counts.sum.fetch_add(1, Ordering::Relaxed);
                counts.retrieved.fetch_add(1, Ordering::SeqCst);
            }
            _ => {
                counts
                    .announced
                    .fetch_add(message.unpack::<u64>()?, Ordering::SeqCst);
                counts.ended.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    Ok(())
}

fn run<L: Channel + Send>(mailboxes: &Mailboxes<L>, seconds: u64) -> Result<(), Error> {
    let (me, ranks) = (mailboxes.me(), mailboxes.peers());
    let mine = mailboxes.create(&format!("stress {me}"), PATIENCE)?;
    let over = mailboxes.create(&format!("over {me}"), PATIENCE)?;
    let find = |name: &str, rank| mailboxes.clone_mailbox(&format!("{name} {rank}"), PATIENCE);
    let all: Result<Vec<_>, _> = (0..ranks).map(|rank| find("stress", rank)).collect();
    let ends: Result<Vec<_>, _> = (0..ranks).map(|rank| find("over", rank)).collect();
    let (all, ends, counts) = (all?, ends?, Counts::default());
    let until = Instant::now() + Duration::from_secs(seconds);
    let posters = (ranks * THREADS) as u64;
    let posted = std::thread::scope(|scope| {
        let posting: Vec<_> = (0..THREADS as u64)
            .map(|thread| {
                let (all, seed) = (&all, 1 + u64::from(me.0) * 100 + thread);
                scope.spawn(move || post(all, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), until))
            })
            .collect();
        let retrieving: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| retrieve(&mine, &counts, posters)))
            .collect();
        for thread in retrieving {
            thread.join().expect("no thread panics")?;
        }
        let posted = posting
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"));
        posted.sum::<Result<u64, Error>>()
    })?;
    println!(
        "rank {me}: {posted} messages posted, {} retrieved with their checksums",
        counts.sum.load(Ordering::Relaxed)
    );
    // All leave when all are done: rank 0 hears of each, then tells each.
    let mut message = Message::new();
    if me != Peer(0) {
        ends[0].post(&mut message)?;
        return over.retrieve(&mut message);
    }
    for _ in 1..ranks {
        over.retrieve(&mut message)?;
    }
    ends[1..]
        .iter()
        .try_for_each(|end| end.post(&mut Message::new()))
}

/// Ends the receiver thread when it is dropped, also where the other threads have failed.
struct End<'a, L: Channel + Send>(&'a Mailboxes<L>, &'a AtomicBool);

impl<L: Channel + Send> Drop for End<'_, L> {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Release);
        self.0.wake();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(3), |text| text.parse())?;
    let (mailboxes, launcher) = pombo_job::enter_mailboxes::<RANKS>(SizeClasses::default())?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiver = (mailboxes.me().0 % 2 == 1)
            .then(|| scope.spawn(|| mailboxes.serve(|| over.load(Ordering::Acquire))));
        let end = End(&mailboxes, &over);
        run(&mailboxes, seconds)?;
        drop(end);
        receiver.map_or(Ok(()), |it| it.join().expect("no thread panics"))
    })?;
    Ok(pombo_job::leave_mailboxes(&mailboxes, launcher)?)
}
