//! Groups that grow and shrink, over the kernel, without MPI: every process joins and leaves named groups at random and
//! talks to them. Processes may be killed at any time, and those that are left have the same groups.
//!
//! ```text
//! cargo build --release --example groups
//! target/release/examples/groups threads                          # four threads, for a second
//! pombo run -n 4 target/release/examples/groups 2                 # four processes, for two seconds
//! pombo run --enable-recovery -n 16 target/release/examples/groups 5 0 7 9 # of 16 three are killed, among them the first
//! pombo run -n 12 --spare 4 --job-file job target/release/examples/groups 60 & # others join it meanwhile:
//! pombo join job target/release/examples/groups 50
//! mpiexec.mpich -hosts one,two -n 4 target/release/examples/groups 2 # on two hosts
//! ```

use pombo_job::group::{
    GroupComposition, GroupEndpoint, GroupError, GroupHeader, GroupPorts, Groups,
};
use pombo_kernel::Peer;
use pombo_netdrivers::Loopback;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The most processes, and short messages that each can have unread in all.
type Composition = GroupComposition<64, 1024>;
type Comm<L> = GroupEndpoint<L, Composition>;

const NAMES: [&str; 3] = ["red", "green", "blue"];
/// The time that an operation gets: far more than it takes.
const TIMEOUT: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_millis(1);

/// A small generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % bound
    }
}

/// What a process has seen of the messages to groups.
#[derive(Default)]
struct Messages {
    sent: u64,
    received: u64,
    /// The number of the last message of each sender to each group.
    last: BTreeMap<(Peer, usize), u64>,
}

impl Messages {
    /// Takes what has arrived for a group. Messages of one sender are numbered: none comes twice.
    fn receive(
        &mut self,
        groups: &mut Groups,
        port: &mut impl GroupPorts,
        name: usize,
    ) -> Result<(), GroupError> {
        let mut number = [0; 8];
        loop {
            match groups.recv(port, NAMES[name], &mut number, Duration::ZERO) {
                Ok(message) => {
                    let number = u64::from_le_bytes(number);
                    let last = self.last.insert((message.from, name), number);
                    assert!(
                        last.is_none_or(|last| last < number),
                        "{number} of {} again",
                        message.from
                    );
                    self.received += 1;
                }
                Err(GroupError::TimedOut | GroupError::NotAMember | GroupError::UnknownGroup) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Joins, leaves and talks until the time is over. Returns false in a process that is to be killed.
fn run(
    port: &mut impl GroupPorts,
    me: Peer,
    time: Duration,
    victims: &[u16],
) -> Result<bool, GroupError> {
    let mut groups = Groups::new(port)?;
    let (begin, mut messages) = (Instant::now(), Messages::default());
    let mut random = Random(u64::from(me.0) << 32 | u64::from(std::process::id()));
    // A victim ends somewhere in the second half, one after the other.
    let end = match victims.iter().position(|victim| *victim == me.0) {
        Some(place) => time / 2 + time / 2 * place as u32 / victims.len() as u32,
        None => time,
    };
    let mut operations = 0;
    eprintln!("rank {me} begins");
    while begin.elapsed() < end {
        let name = random.below(NAMES.len() as u64) as usize;
        messages.receive(&mut groups, port, name)?;
        match random.below(8) {
            0 => match groups.join(port, NAMES[name], TIMEOUT) {
                Ok(_) | Err(GroupError::AlreadyMember) => operations += 1,
                Err(error) => return Err(error),
            },
            1 => match groups.leave(port, NAMES[name], TIMEOUT) {
                Ok(()) | Err(GroupError::NotAMember | GroupError::UnknownGroup) => operations += 1,
                Err(error) => return Err(error),
            },
            2..5 => {
                messages.sent += 1;
                match groups.broadcast(
                    port,
                    NAMES[name],
                    &messages.sent.to_le_bytes(),
                    100 * MOMENT,
                ) {
                    Ok(_) | Err(GroupError::UnknownGroup | GroupError::TimedOut) => {}
                    Err(error) => return Err(error),
                }
            }
            _ => groups.serve(port, MOMENT)?,
        }
    }
    if end < time {
        return Ok(false);
    }
    // Whoever is left meets here; the victims have ended when all processes of the view have come.
    groups.join(port, "end", TIMEOUT)?;
    let met = Instant::now();
    while groups.size("end")? < groups.processes().len() {
        assert!(
            met.elapsed() < TIMEOUT,
            "{:?} are missing",
            groups.processes()
        );
        groups.serve(port, MOMENT)?;
        for name in 0..NAMES.len() {
            messages.receive(&mut groups, port, name)?;
        }
    }
    let count = groups.processes().len() as u16;
    groups.barrier(port, "end", count, TIMEOUT)?;
    let members = |name| match groups.members(name) {
        Ok(members) => members
            .iter()
            .map(|member| (member.number, member.peer.0))
            .collect(),
        Err(_) => Vec::new(),
    };
    let all = NAMES.map(|name| (name, members(name)));
    println!(
        "rank {me}: {:?}: {all:?}",
        groups
            .processes()
            .iter()
            .map(|peer| peer.0)
            .collect::<Vec<_>>()
    );
    let Messages { sent, received, .. } = messages;
    eprintln!(
        "rank {me}: view {}, {operations} operations, {sent} messages to groups, {received} from members",
        groups.view()
    );
    // Nobody leaves the job before all have looked.
    groups.barrier(port, "end", count, TIMEOUT)?;
    Ok(true)
}

/// Runs four threads of this process.
fn threads() -> Result<(), GroupError> {
    let rank = |channel: Loopback| {
        std::thread::spawn(move || {
            let mut comm = Comm::two(channel)?;
            let me = comm.me();
            run(&mut comm, me, Duration::from_secs(1), &[]).map(drop)
        })
    };
    let ranks: Vec<_> = Loopback::world(4).into_iter().map(rank).collect();
    let mut ended = ranks
        .into_iter()
        .map(|rank| rank.join().expect("no rank panics"));
    ended.try_for_each(|ended| ended)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "threads") {
        return Ok(threads()?);
    }
    let mut numbers = words.iter().map(|word| word.parse());
    let seconds = numbers.next().transpose()?.unwrap_or(1);
    let victims = numbers.collect::<Result<Vec<u16>, _>>()?;
    let joined = pombo_job::enter::<GroupHeader, Composition, 64>()?;
    let mut comm = Comm::two(joined.channel)?;
    let me = comm.me();
    if !run(&mut comm, me, Duration::from_secs(seconds.into()), &victims)? {
        let own = std::process::id().to_string();
        std::process::Command::new("kill")
            .args(["-KILL", &own])
            .status()?;
    }
    Ok(pombo_job::leave_groups(comm, joined.launcher)?)
}
