//! Tests messages to named groups that leave as one frame for all hosts: their number on the wire, order and completeness
//! on a network that loses frames, members that die or compute, and networks without multicast.

use crate::common::{Hosts, on_hosts};
use crate::jobs::{NETS, alone, job_of, pombo_run};
use crate::support::{Job, Outcome, finish, until};
use pombo_job::group::{
    GroupComposition, GroupEndpoint, GroupError, GroupHeader, Groups, Member, Received,
};
use pombo_job::{JobChannel, Joined, WorldChannel};
use pombo_kernel::prelude::*;
use pombo_netdrivers::ethernet::Sniffer;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Sizes = GroupComposition<64, 1024>;
type Comm = GroupEndpoint<JobChannel<64>, Sizes>;

/// A hang limit.
const LONG: Duration = Duration::from_secs(60);
/// Tells a rank what it is to do, and where its files are.
const TASK: &str = "POMBO_TEST_CASTS";
const PLACE: &str = "POMBO_TEST_CASTS_PLACE";

/// Runs ranks with that task, one on each host or more.
fn run(
    hosts: &Hosts,
    ranks_per_host: usize,
    task: &str,
    variables: &[(&str, &str)],
) -> Option<Outcome> {
    let mut command = ranks(hosts, ranks_per_host, task)?;
    let outcome = finish(command.envs(variables.iter().copied()));
    Some(outcome)
}

fn ranks(hosts: &Hosts, ranks_per_host: usize, task: &str) -> Option<Command> {
    let mut command = job_of(hosts, ranks_per_host)?;
    command.arg("-disable-auto-cleanup");
    set_task(&mut command, hosts, task);
    add_program(&mut command);
    Some(command)
}

fn set_task(command: &mut Command, hosts: &Hosts, task: &str) {
    command.env(TASK, task).env(PLACE, hosts.home());
    command.env("POMBO_HOST_TIMEOUT", "2");
}

fn add_program(command: &mut Command) {
    command.arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", "casts::a_rank_does_its_task", "--nocapture"]);
}

/// Runs ranks with that task over UDP, one on each host; when they ask for it the test does its part, which may fail.
fn run_with(hosts: &Hosts, task: &str, part: impl FnOnce() -> bool) -> Option<Outcome> {
    let [asked, done] = [ASKED, DONE].map(|name| hosts.home().join(name));
    let mut command = ranks(hosts, 1, task)?;
    let job = Job::start(command.env("POMBO_NET", "udp"));
    until("the ranks ask", || asked.exists());
    std::fs::remove_file(asked).expect("it is there");
    if !part() {
        return None;
    }
    std::fs::write(&done, "").expect("room");
    let outcome = job.finish();
    std::fs::remove_file(done).expect("it is there");
    Some(outcome)
}

/// Returns the lines of the ranks, without those of the tests' harness.
fn lines(outcome: &Outcome) -> Vec<&str> {
    let found = |line: &&str| line.contains("rank ");
    let mut lines: Vec<&str> = outcome.out.lines().filter(found).collect();
    lines.sort_unstable();
    lines
}

/// Checks that so many ranks have done their task.
fn expect_done(outcome: &Outcome, ranks: usize) {
    let done = lines(outcome)
        .iter()
        .filter(|line| line.ends_with("done"))
        .count();
    assert_eq!((outcome.code, done), (0, ranks), "{outcome:?}");
}

/// No test by itself, but the program of the others.
#[test]
fn a_rank_does_its_task() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let joined = pombo_job::enter::<GroupHeader, Sizes, 64>().expect("a job");
    let Joined {
        channel, launcher, ..
    } = joined;
    let mut comm = Comm::two(channel).expect("an endpoint");
    let groups = Groups::new(&comm).expect("groups");
    let place = PathBuf::from(std::env::var(PLACE).expect("a directory"));
    let mut rank = Rank {
        me: comm.me().index(),
        ranks: comm.peers(),
        groups,
        comm: &mut comm,
        place,
    };
    let done = match &*task {
        "count" => rank.count(),
        "mix" => rank.mix(),
        "rounds" => rank.rounds(),
        "die" => rank.die(),
        "compute" => rank.compute(),
        "alone" => rank.alone(),
        "unread" => rank.unread(),
        "leave" => rank.leave_full(),
        "partly" => rank.partly(),
        "deafen" => rank.deafen(),
        "withdrawn" => rank.withdrawn(),
        "killed" => rank.killed_sender(),
        "newcomer" => rank.newcomer(),
        "broken" => rank.broken(),
        _ => panic!("no such task"),
    };
    if let Err(error) = done {
        println!("\nrank {}: {error}", rank.me);
        std::process::exit(1);
    }
    println!("\nrank {}: done", rank.me);
    pombo_job::leave_groups(comm, launcher).expect("the end");
}

struct Rank<'a> {
    me: usize,
    ranks: usize,
    groups: Groups,
    comm: &'a mut Comm,
    place: PathBuf,
}

/// By these files ranks let the test go on, and it them.
const ASKED: &str = "asked";
const DONE: &str = "done";
/// The rank on a host that hears no multicast.
const DEAF: usize = 2;

/// A message of every test: the sender, a number, and bytes that depend on both.
fn message(from: usize, number: usize, len: usize) -> Vec<u8> {
    let head = [from as u8, number as u8, (number >> 8) as u8, 0x5a];
    let rest = (4..len.max(4)).map(|at| (from * 31 + number * 7 + at * 13) as u8);
    head.into_iter().chain(rest).collect()
}

/// The groups and lengths of the messages whose frames are counted: rank 0 is a member of the second group alone.
const COUNTED_GROUPS: [&str; 3] = ["others", "all", "three"];
const COUNTED: [usize; 2] = [16, 1024];

/// A small generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }
}

impl Rank<'_> {
    fn join(&mut self, name: &str) -> Result<Member, GroupError> {
        self.groups.join(self.comm, name, LONG)
    }

    fn meet(&mut self) -> Result<(), GroupError> {
        self.groups
            .barrier(self.comm, "all", self.ranks as u16, LONG)
    }

    fn receive(&mut self, name: &str) -> Result<(Received, Vec<u8>), GroupError> {
        let mut buffer = vec![0; 5000];
        let received = self.groups.recv(self.comm, name, &mut buffer, LONG)?;
        buffer.truncate(received.len);
        Ok((received, buffer))
    }

    /// All join a group, and know that everybody casts.
    fn begin(&mut self) -> Result<(), GroupError> {
        self.join("all")?;
        self.meet()?;
        self.serve_until("it casts", |rank| rank.groups.is_casting())?;
        self.meet()
    }

    /// Serves the groups until that holds.
    fn serve_until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<(), GroupError> {
        let begin = Instant::now();
        while !holds(self) {
            assert!(begin.elapsed() < LONG, "rank {}: until {what}", self.me);
            self.groups.serve(self.comm, Duration::from_millis(1))?;
        }
        Ok(())
    }

    /// Lets the test go on, and serves the groups until it has done its part.
    fn ask_test(&mut self) -> Result<(), GroupError> {
        self.meet()?;
        let (asked, done) = (self.place.join(ASKED), self.place.join(DONE));
        if self.me == 0 {
            std::fs::write(asked, "").expect("room");
        }
        self.serve_until("the test has done its part", |_| done.exists())
    }

    /// Rank 0 sends to a group from outside, and to one of which it is a member.
    fn count(&mut self) -> Result<(), GroupError> {
        if std::env::var_os("POMBO_GROUP_CASTS").is_some() {
            self.join("all")?;
        } else {
            self.begin()?;
        }
        if self.me != 0 {
            self.join("others")?;
        }
        if (1..=3).contains(&self.me) {
            self.join("three")?;
        }
        self.meet()?;
        for (turn, name) in COUNTED_GROUPS.into_iter().enumerate() {
            for (number, len) in COUNTED.into_iter().enumerate() {
                let expected = message(0, 10 * turn + number, len);
                if self.me == 0 {
                    let others = if name == "three" { 3 } else { self.ranks - 1 };
                    let sent = self.groups.broadcast(self.comm, name, &expected, LONG)?;
                    assert_eq!(sent, others);
                } else if name != "three" || self.me <= 3 {
                    let (received, bytes) = self.receive(name)?;
                    assert!(received.from == Peer(0) && bytes == expected);
                }
                self.meet()?;
            }
        }
        let nothing = self
            .groups
            .recv(self.comm, "all", &mut [0; 8], Duration::ZERO);
        assert_eq!(nothing, Err(GroupError::TimedOut));
        Ok(())
    }

    /// The ranks send in turn, to all or to some, in frames and longer messages, to two groups; each gets all of what is
    /// for it, once and in order.
    fn mix(&mut self) -> Result<(), GroupError> {
        self.begin()?;
        self.mix_without_begin()
    }

    fn mix_without_begin(&mut self) -> Result<(), GroupError> {
        const NAMES: [&str; 2] = ["all", "odd"];
        if self.me % 2 == 1 {
            self.join("odd")?;
        }
        self.meet()?;
        for sender in 0..self.ranks {
            let mut random = Random(sender as u64);
            let mut mine: [Vec<(usize, usize)>; 2] = Default::default();
            for number in 0..120 {
                let name = random.below(2);
                let len = [16, 100, 1024, 1025, 3000][random.below(5)];
                let everybody = random.below(3) == 0;
                let set = random.below(1 << self.ranks);
                let members = self.groups.members(NAMES[name])?;
                let is_in = |member: &Member| everybody || set >> member.peer.0 & 1 == 1;
                let to: Vec<Member> = members.into_iter().filter(is_in).collect();
                if self.me != sender {
                    if to.iter().any(|member| member.peer.index() == self.me) {
                        mine[name].push((number, len));
                    }
                    continue;
                }
                let bytes = message(sender, number, len);
                let (name, others) = (NAMES[name], to.iter().filter(|m| m.peer.index() != sender));
                let sent = self.groups.multicast(self.comm, name, &to, &bytes, LONG)?;
                assert_eq!(sent, others.count());
            }
            // A long message waits for who takes those before it, in whichever group.
            let mut order: Vec<(usize, usize, usize)> = (0..2)
                .flat_map(|name| {
                    mine[name]
                        .iter()
                        .map(move |(number, len)| (*number, name, *len))
                })
                .collect();
            order.sort_unstable();
            for (number, name, len) in order {
                let (received, bytes) = self.receive(NAMES[name])?;
                assert_eq!(received.from.index(), sender);
                assert!(
                    bytes == message(sender, number, len),
                    "not message {number} of {sender}"
                );
            }
            self.meet()?;
        }
        Ok(())
    }

    /// All send at once.
    fn rounds(&mut self) -> Result<(), GroupError> {
        const MESSAGES: usize = 10;
        self.begin()?;
        let mut next = vec![0; self.ranks];
        for round in 0..60 {
            for number in 0..MESSAGES {
                let number = round * MESSAGES + number;
                let bytes = message(self.me, number, 16 + number % 500);
                let sent = self.groups.broadcast(self.comm, "all", &bytes, LONG)?;
                assert_eq!(sent, self.ranks - 1);
            }
            for _ in 0..MESSAGES * (self.ranks - 1) {
                let (received, bytes) = self.receive("all")?;
                let (from, next) = (received.from.index(), &mut next[received.from.index()]);
                assert!(
                    bytes == message(from, *next, 16 + *next % 500),
                    "not {next} of {from}"
                );
                *next += 1;
            }
        }
        self.meet()
    }

    /// Rank 0 sends; in the middle rank 2 is killed, which frees its place among those that are waited for.
    fn die(&mut self) -> Result<(), GroupError> {
        const MESSAGES: usize = 2000;
        self.begin()?;
        for number in 0..MESSAGES {
            let expected = message(0, number, 200);
            if self.me == 0 {
                self.groups.broadcast(self.comm, "all", &expected, LONG)?;
            } else {
                let (_, bytes) = self.receive("all")?;
                assert!(bytes == expected, "not message {number}");
            }
            if self.me == 2 && number == MESSAGES / 4 {
                let own = std::process::id().to_string();
                let _ = Command::new("kill").args(["-KILL", &own]).status();
            }
        }
        self.until_one_has_died()?;
        self.groups.barrier(self.comm, "all", 0, LONG)
    }

    fn until_one_has_died(&mut self) -> Result<(), GroupError> {
        self.serve_until("one has died", |rank| {
            rank.groups.size("all").is_ok_and(|size| size < rank.ranks)
        })
    }

    /// The last rank computes until the others, whose group it is not in, have talked.
    fn compute(&mut self) -> Result<(), GroupError> {
        const MESSAGES: usize = 300;
        self.begin()?;
        let file = self.place.join("talked");
        let is_last = self.me == self.ranks - 1;
        if !is_last {
            self.join("talkers")?;
        }
        self.meet()?;
        if is_last {
            until("the others have talked", || file.exists());
            return self.meet();
        }
        for number in 0..MESSAGES {
            let bytes = message(0, number, 300);
            if self.me == 0 {
                let sent = self.groups.broadcast(self.comm, "talkers", &bytes, LONG)?;
                assert_eq!(sent, self.ranks - 2);
            } else {
                assert!(self.receive("talkers")?.1 == bytes, "not message {number}");
                if number + 1 == MESSAGES {
                    let last = self.groups.member_of("all", Peer(0))?;
                    self.groups
                        .multicast(self.comm, "all", &[last], &[], LONG)?;
                }
            }
        }
        if self.me == 0 {
            for _ in 0..self.ranks - 2 {
                self.receive("all")?;
            }
            std::fs::write(file, "").expect("room");
        }
        self.meet()
    }

    /// Rank 1 serves the groups, but does not read: the others wait for it in no group.
    fn unread(&mut self) -> Result<(), GroupError> {
        self.begin()?;
        if self.me != 1 {
            self.join("talk")?;
        }
        self.meet()?;
        let file = self.place.join("over");
        match self.me {
            0 => {
                for number in 0..64 {
                    self.groups
                        .broadcast(self.comm, "all", &message(0, number, 16), LONG)?;
                }
                self.groups.broadcast(self.comm, "talk", b"talk", LONG)?;
            }
            1 => {}
            _ => {
                for _ in 0..64 {
                    self.receive("all")?;
                }
                let mut text = [0; 4];
                self.groups.recv(self.comm, "talk", &mut text, LONG)?;
                std::fs::write(&file, "").expect("a file");
            }
        }
        while !file.exists() {
            self.groups.serve(self.comm, Duration::from_millis(1))?;
        }
        if self.me == 1 {
            for _ in 0..64 {
                self.receive("all")?;
            }
        }
        self.meet()
    }

    /// All send more than anybody has room for, and leave the job.
    fn leave_full(&mut self) -> Result<(), GroupError> {
        self.begin()?;
        for number in 0..40 {
            self.groups
                .broadcast(self.comm, "all", &message(self.me, number, 16), LONG)?;
        }
        Ok(())
    }

    /// As `mix`, where some hear no multicast.
    fn partly(&mut self) -> Result<(), GroupError> {
        self.join("all")?;
        self.meet()?;
        // The deaf host's messages reach all others; theirs do not reach it.
        if self.me == DEAF {
            self.serve_until("it casts", |rank| rank.groups.is_casting())?;
        }
        self.meet()?;
        self.mix_without_begin()?;
        assert_eq!(self.groups.is_casting(), self.me == DEAF);
        Ok(())
    }

    /// As `mix`, where one host does not hear multicast any more.
    fn deafen(&mut self) -> Result<(), GroupError> {
        self.begin()?;
        self.ask_test()?;
        self.mix_without_begin()
    }

    /// As `mix`, where one process cannot open the groups of the network, which the others learn late.
    fn withdrawn(&mut self) -> Result<(), GroupError> {
        self.join("all")?;
        self.meet()?;
        self.mix_without_begin()?;
        assert!(!self.groups.is_casting());
        self.serve_until("nothing is sent again", |rank| {
            rank.comm.channel().has_settled_groups()
        })?;
        self.meet()
    }

    /// Rank 2 casts, and sends messages of its own to each, until it is killed: all others get the first of them, without
    /// a hole.
    fn killed_sender(&mut self) -> Result<(), GroupError> {
        self.begin()?;
        if self.me == 2 {
            let own = std::process::id().to_string();
            let members = self.groups.members("all")?;
            for number in 0.. {
                let bytes = message(2, number, 200);
                // To one member it is no cast.
                let at_once = if number % 3 == 1 { 1 } else { members.len() };
                for to in members.chunks(at_once) {
                    self.groups.multicast(self.comm, "all", to, &bytes, LONG)?;
                }
                if number == 500 {
                    let _ = Command::new("kill").args(["-KILL", &own]).spawn();
                }
            }
        }
        let mut next = 0;
        loop {
            let has_died = self.groups.size("all")? < self.ranks;
            let (mut bytes, moment) = ([0; 200], Duration::from_millis(1));
            match self.groups.recv(self.comm, "all", &mut bytes, moment) {
                Ok(_) => {
                    assert!(bytes[..] == message(2, next, 200), "not message {next}");
                    next += 1;
                }
                Err(GroupError::TimedOut) if has_died => break,
                Err(GroupError::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
        // It never sends more than so many that nobody has taken.
        assert!(next > 400, "only {next}");
        self.groups.barrier(self.comm, "all", 0, LONG)
    }

    /// Three processes cast to each other, and a fourth one, which joins them while they run, gets messages of its own.
    fn newcomer(&mut self) -> Result<(), GroupError> {
        self.join("all")?;
        if self.me < 3 {
            self.groups.barrier(self.comm, "all", 3, LONG)?;
            self.serve_until("it casts", |rank| rank.groups.is_casting())?;
            self.groups.barrier(self.comm, "all", 3, LONG)?;
            if self.me == 0 {
                std::fs::write(self.place.join(ASKED), "").expect("room");
            }
        }
        self.serve_until("four are there", |rank| rank.groups.size("all") == Ok(4))?;
        self.mix_without_begin()?;
        assert_eq!(self.groups.is_casting(), self.me < 3);
        Ok(())
    }

    /// The device for casts of rank 0 fails: that is an error there, and the others go on without it.
    fn broken(&mut self) -> Result<(), GroupError> {
        self.begin()?;
        self.ask_test()?;
        if self.me > 0 {
            self.until_one_has_died()?;
            return self.groups.barrier(self.comm, "all", 0, LONG);
        }
        let begin = Instant::now();
        while begin.elapsed() < LONG {
            let bytes = message(0, 0, 1000);
            self.groups.broadcast(self.comm, "all", &bytes, LONG)?;
        }
        panic!("a lost device is no error")
    }

    /// As `mix`, where nobody casts.
    fn alone(&mut self) -> Result<(), GroupError> {
        self.join("all")?;
        self.meet()?;
        self.mix_without_begin()?;
        assert!(!self.groups.is_casting());
        Ok(())
    }
}

/// Returns how many frames of host 0 have each of the counted messages, while the job runs.
fn frames_of_messages(hosts: &Hosts, variables: &[(&str, &str)]) -> Option<[usize; 6]> {
    let mut sniffer = Sniffer::open("v0").expect("root of this network");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let frames = scope.spawn(|| {
            let (mut counts, mut room) = ([0; 6], vec![0; 1 << 16]);
            let numbers = [0, 1, 10, 11, 20, 21];
            let wanted = numbers.map(|number| message(0, number, COUNTED[number % 10]));
            loop {
                match sniffer.next(&mut room, 100).expect("an interface") {
                    Some(frame) => {
                        let bytes = &room[..frame.len.min(room.len())];
                        for (count, wanted) in counts.iter_mut().zip(&wanted) {
                            let has = bytes.windows(wanted.len()).any(|bytes| bytes == wanted);
                            *count += usize::from(has);
                        }
                    }
                    None if over.load(Ordering::Relaxed) => return counts,
                    None => {}
                }
            }
        });
        let outcome = run(hosts, 1, "count", variables);
        over.store(true, Ordering::Relaxed);
        let counts = frames.join().expect("it counts");
        expect_done(&outcome?, hosts.count());
        Some(counts)
    })
}

/// A message of 16 bytes and one of 1 KiB is in one frame on the line of its sender, whatever the number of hosts.
#[test]
fn a_message_to_a_group_is_one_frame() {
    let _alone = alone();
    on_hosts(here!(a_message_to_a_group_is_one_frame), 8, |hosts| {
        for net in NETS {
            let Some(counts) = frames_of_messages(hosts, &[("POMBO_NET", net)]) else {
                return;
            };
            assert_eq!(counts, [1; 6], "{net}");
            let off = [("POMBO_NET", net), ("POMBO_GROUP_CASTS", "0")];
            let counts = frames_of_messages(hosts, &off).expect("as before");
            let least = [7, 7, 7, 7, 3, 3];
            let each = counts
                .iter()
                .zip(least)
                .all(|(count, least)| *count >= least);
            assert!(each, "{net}: {counts:?}");
        }
    });
}

#[test]
fn casts_and_messages_come_in_order_though_frames_are_lost() {
    let _alone = alone();
    let test = here!(casts_and_messages_come_in_order_though_frames_are_lost);
    on_hosts(test, 4, |hosts| {
        for net in NETS {
            for (task, loss) in [("mix", "0"), ("mix", "2"), ("rounds", "2")] {
                let variables = [("POMBO_NET", net), ("POMBO_FAULT_LOSS", loss)];
                let Some(outcome) = run(hosts, 2, task, &variables) else {
                    return;
                };
                expect_done(&outcome, 8);
            }
        }
    });
}

/// Four of five get everything when the third is killed.
#[test]
fn casts_outlive_a_killed_member() {
    let _alone = alone();
    on_hosts(here!(casts_outlive_a_killed_member), 5, |hosts| {
        for net in NETS {
            let variables = [("POMBO_NET", net), ("POMBO_FAULT_LOSS", "2")];
            let Some(outcome) = run(hosts, 1, "die", &variables) else {
                return;
            };
            let expected = [0, 1, 3, 4].map(|rank| format!("rank {rank}: done"));
            assert_eq!(lines(&outcome), expected, "{outcome:?}");
        }
    });
}

#[test]
fn members_do_not_wait_for_who_computes() {
    let _alone = alone();
    on_hosts(here!(members_do_not_wait_for_who_computes), 4, |hosts| {
        for net in NETS {
            let file: &Path = &hosts.home().join("talked");
            let _ = std::fs::remove_file(file);
            let Some(outcome) = run(hosts, 1, "compute", &[("POMBO_NET", net)]) else {
                return;
            };
            expect_done(&outcome, 4);
        }
    });
}

#[test]
fn without_multicast_each_member_gets_its_own() {
    let _alone = alone();
    on_hosts(
        here!(without_multicast_each_member_gets_its_own),
        4,
        |hosts| {
            hosts.filter_multicast();
            let Some(outcome) = run(hosts, 2, "alone", &[("POMBO_NET", "udp")]) else {
                return;
            };
            expect_done(&outcome, 8);
        },
    );
}

#[test]
fn a_member_that_does_not_read_delays_nobody() {
    let _alone = alone();
    on_hosts(
        here!(a_member_that_does_not_read_delays_nobody),
        4,
        |hosts| {
            let _ = std::fs::remove_file(hosts.home().join("over"));
            if let Some(outcome) = run(hosts, 1, "unread", &[("POMBO_NET", "udp")]) {
                expect_done(&outcome, 4);
            }
        },
    );
}

#[test]
fn processes_leave_with_casts_that_nobody_reads() {
    let _alone = alone();
    on_hosts(
        here!(processes_leave_with_casts_that_nobody_reads),
        4,
        |hosts| {
            if let Some(outcome) = run(hosts, 1, "leave", &[("POMBO_NET", "udp")]) {
                expect_done(&outcome, 4);
            }
        },
    );
}

/// A host that hears no multicast, from the beginning on or later, gets messages of its own; its casts reach the others.
#[test]
fn one_deaf_host_gets_everything() {
    let _alone = alone();
    on_hosts(here!(one_deaf_host_gets_everything), 4, |hosts| {
        let deafen = |on| {
            let flood = if on { "off" } else { "on" };
            hosts.set(&format!(
                "ip link set v{DEAF} type bridge_slave mcast_flood {flood}"
            ));
        };
        deafen(true);
        let Some(outcome) = run(hosts, 1, "partly", &[("POMBO_NET", "udp")]) else {
            return;
        };
        expect_done(&outcome, 4);
        deafen(false);
        let outcome = run_with(hosts, "deafen", || {
            deafen(true);
            true
        });
        expect_done(&outcome.expect("as before"), 4);
    });
}

/// Where one process cannot open the groups of the network, nobody casts, and nobody waits for its answer.
#[test]
fn one_that_cannot_open_groups_is_not_waited_for() {
    let _alone = alone();
    let test = here!(one_that_cannot_open_groups_is_not_waited_for);
    on_hosts(test, 4, |hosts| {
        hosts.set(
            "nsenter --net=/run/netns/h2 sh -c 'echo 0 > /proc/sys/net/ipv4/igmp_max_memberships'",
        );
        if let Some(outcome) = run(hosts, 1, "withdrawn", &[("POMBO_NET", "udp")]) {
            expect_done(&outcome, 4);
        }
    });
}

#[test]
fn the_messages_of_a_killed_sender_have_no_hole() {
    let _alone = alone();
    let test = here!(the_messages_of_a_killed_sender_have_no_hole);
    on_hosts(test, 4, |hosts| {
        for (net, loss) in [("udp", "0"), ("udp", "3"), ("ethernet:eth0", "3")] {
            let variables = [("POMBO_NET", net), ("POMBO_FAULT_LOSS", loss)];
            let Some(outcome) = run(hosts, 1, "killed", &variables) else {
                return;
            };
            let expected = [0, 1, 3].map(|rank| format!("rank {rank}: done"));
            assert_eq!(lines(&outcome), expected, "{outcome:?}");
        }
    });
}

#[test]
fn a_newcomer_gets_messages_of_its_own_in_order() {
    let _alone = alone();
    let test = here!(a_newcomer_gets_messages_of_its_own_in_order);
    on_hosts(test, 4, |hosts| {
        for net in NETS {
            let file = hosts.home().join("job");
            let Some(mut command) = pombo_run(hosts, "h0:1,h1:1,h2:1") else {
                return;
            };
            set_task(&mut command, hosts, "newcomer");
            command.args(["-net", net, "--spare", "1", "--job-file"]);
            add_program(command.arg(&file));
            let job = Job::start(&mut command);
            let asked = hosts.home().join(ASKED);
            until("they cast", || asked.exists());
            std::fs::remove_file(asked).expect("it is there");
            let mut command = hosts.command(3, env!("CARGO_BIN_EXE_pombo"));
            set_task(&mut command, hosts, "newcomer");
            add_program(command.arg("join").arg(&file));
            expect_done(&finish(&mut command), 1);
            expect_done(&job.finish(), 3);
        }
    });
}

/// The system closes the socket of casts, as it does when its interface goes.
#[test]
fn a_failed_device_for_casts_is_an_error_of_its_process() {
    let _alone = alone();
    let test = here!(a_failed_device_for_casts_is_an_error_of_its_process);
    on_hosts(test, 4, |hosts| {
        let mut closed = String::new();
        let outcome = run_with(hosts, "broken", || {
            let mut command = hosts.command(0, "ss");
            closed = finish(command.args(["-K", "-u", "-a", "src", "239.0.0.0/8"])).out;
            closed.contains("239.")
        });
        let Some(outcome) = outcome else {
            return eprintln!("SKIPPED {test}: the system closes no socket: {closed}");
        };
        let lines = lines(&outcome);
        let expected = [1, 2, 3].map(|rank| format!("rank {rank}: done"));
        assert_eq!(lines[1..], expected, "{outcome:?}");
        assert!(lines[0].contains("device"), "{outcome:?}");
    });
}
