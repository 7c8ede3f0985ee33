//! Chain replication over `Communicator`: every rank keeps a log, which survives the failure of any rank.
//!
//! ```text
//! cargo build --release --example chain
//! target/release/examples/chain threads 1                 # four threads, of which rank 1 ends halfway
//! pombo run --enable-recovery -n 4 target/release/examples/chain 1 # four processes, of which rank 1 is killed
//! mpiexec.mpich -disable-auto-cleanup -hosts one,two -n 2 target/release/examples/chain 1 # on two hosts
//! ```
//!
//! A rank requests an entry from its predecessor when it, and every rank behind it, has all earlier entries. So all
//! ranks have the entries before the one that the first rank is asked for, and it writes the next. A rank whose
//! predecessor has failed asks the next one ahead; if none is left, it is the first.

use pombo_kernel::prelude::*;
use pombo_kernel::{Channel, Selected};
use pombo_netdrivers::Loopback;

header! {
    /// The protocol: a message requests the entry of that number, or contains it.
    struct Log { kind: u8, number: U16 }
}

const ASK: u8 = 1;
const ENTRY: u8 = 2;
/// Number of entries that all ranks must have.
const ENTRIES: usize = 300;

/// Up to eight ranks, the limit of [`Selected`].
type Comm<L> = Communicator<Log, L, Lent<'static>>;

/// Calls `f` with the last of these ranks that is alive; returns `None` when all have failed.
fn with_living<T>(
    ranks: &mut Vec<Peer>,
    mut f: impl FnMut(Peer) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    while let Some(&rank) = ranks.last() {
        match f(rank) {
            Err(Error::PeerLost(_)) => ranks.pop(),
            done => return done.map(Some),
        };
    }
    Ok(None)
}

/// Replicates the log until it has `until` entries, and returns it. An entry is the number of the rank that wrote it.
fn replicate<L: Channel>(comm: &mut Comm<L>, until: usize) -> Result<Vec<u8>, Error> {
    let (me, ranks) = (comm.me().0, comm.peers() as u16);
    let mut ahead: Vec<Peer> = (0..me).map(Peer).collect();
    let mut behind: Vec<Peer> = (me + 1..ranks).rev().map(Peer).collect();
    let mut log = Vec::new();
    while log.len() < until {
        let asks = |next| comm.recv(Log::kind(ASK).from_peer(next), &mut []);
        let asked = with_living(&mut behind, asks)?.map(|ask| ask.header().number);
        let number = asked.unwrap_or(U16::new(log.len() as u16));
        let at = usize::from(number.get());
        if at == log.len() {
            let mut entry = [me as u8];
            with_living(&mut ahead, |rank| {
                comm.send(rank, Log { kind: ASK, number }, &[])?;
                comm.recv(Log::kind(ENTRY).from_peer(rank), &mut entry)
            })?;
            log.extend(entry);
        }
        if let Some(&next) = behind.last() {
            match comm.send(
                next,
                Log {
                    kind: ENTRY,
                    number,
                },
                &log[at..=at],
            ) {
                Err(Error::PeerLost(_)) => {}
                sent => sent?,
            }
        }
    }
    Ok(log)
}

/// Runs one rank, over any channel. Returns false in the victim, which stops with half of the log.
fn run<L: Channel>(comm: &mut Comm<L>, victim: Option<u16>) -> Result<bool, Error> {
    if victim == Some(comm.me().0) {
        return replicate(comm, ENTRIES / 2).map(|_| false);
    }
    // A rank with one more entry knows that all ranks have the earlier ones.
    let log = replicate(comm, ENTRIES + 1)?;
    let runs = log[..ENTRIES].chunk_by(|one, next| one == next);
    let runs: Vec<_> = runs.map(|run| (run.len(), run[0])).collect();
    println!("rank {}: entries, and who wrote them: {runs:?}", comm.me());
    Ok(true)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let victim = words.last().and_then(|word| word.parse().ok());
    if words.first().is_some_and(|word| word == "threads") {
        let rank = |channel| std::thread::spawn(move || run(&mut Comm::new(channel)?, victim));
        let ranks: Vec<_> = Loopback::world(4).into_iter().map(rank).collect();
        let mut ended = ranks
            .into_iter()
            .map(|rank| rank.join().expect("no rank panics"));
        return Ok(ended.try_for_each(|ended| ended.map(drop))?);
    }
    let joined = pombo_job::enter::<Log, Selected, 8>()?;
    let mut comm = Comm::new(joined.channel)?;
    if !run(&mut comm, victim)? {
        let own = std::process::id().to_string();
        std::process::Command::new("kill")
            .args(["-KILL", &own])
            .status()?;
    }
    Ok(pombo_job::leave(comm, joined.launcher)?)
}
