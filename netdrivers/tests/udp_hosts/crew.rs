//! Ranks of a test as processes on hosts: the test program again, with that test alone. This program is their
//! launcher: it hands the table of addresses round and says who has gone.

use crate::hosts::{Hosts, on_hosts};
use pombo_kernel::Peer;
use pombo_netdrivers::fault::{FaultyNetwork, Rate};
use pombo_netdrivers::udp::Udp;
use pombo_testing::conformance::{SupervisedChannel, Supervisor};
use pombo_transport::reliable::Window;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

const RANK: &str = "POMBO_TEST_RANK";
const HOST: &str = "POMBO_TEST_HOST";
const ADDRESS: &str = "at ";
const GONE: &str = "gone ";

/// A rank's channel. It goes when its frames have arrived.
pub(crate) type Rank = SupervisedChannel<FaultyNetwork<Udp>, Window<8, 64, 1500>, Job>;

/// Who has gone, as this process was told.
#[derive(Default)]
pub(crate) struct Job(Mutex<Vec<Peer>>);

impl Supervisor for Job {
    fn departed(&self) -> &Mutex<Vec<Peer>> {
        &self.0
    }
}

/// Runs `body` as each of so many ranks on as many hosts, at most four; ranks share hosts in turn. Frames are lost at
/// that rate on arrival.
pub(crate) fn run(test: &str, ranks: u16, ppm: u32, body: fn(Rank)) {
    if let Ok(rank) = std::env::var(RANK) {
        return body(join(Peer(rank.parse().expect("a number")), ppm));
    }
    on_hosts(test, usize::from(ranks.min(4)), |hosts| {
        let start = |rank| Process::start(hosts, test, rank);
        supervise((0..ranks).map(start).collect());
    });
}

/// Hands the addresses round, and then tells everybody who ended.
fn supervise(mut processes: Vec<Process>) {
    let addresses: Vec<String> = processes.iter_mut().map(Process::address).collect();
    let table = addresses.join(" ");
    for process in &mut processes {
        process.say(&table);
    }
    let mut drains = Vec::new();
    for process in &mut processes {
        // Nobody may wait for the other side to read what it prints.
        let said = process.said.take().expect("not taken");
        drains.push(std::thread::spawn(move || {
            said.map_while(Result::ok).for_each(drop)
        }));
    }
    while !processes.is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(1));
        let ended = |process: &mut Process| process.child.try_wait().expect("a child");
        let Some((place, status)) =
            (0..processes.len()).find_map(|place| Some((place, ended(&mut processes[place])?)))
        else {
            continue;
        };
        let rank = processes.remove(place).rank;
        assert!(status.success(), "rank {rank}: {status}");
        let gone = format!("{GONE}{rank}");
        processes.iter_mut().for_each(|process| process.say(&gone));
    }
    drains.into_iter().for_each(|drain| drop(drain.join()));
}

struct Process {
    rank: u16,
    child: Child,
    orders: ChildStdin,
    said: Option<Lines<BufReader<ChildStdout>>>,
}

impl Process {
    fn start(hosts: &Hosts, test: &str, rank: u16) -> Self {
        let (_crate, test) = test.split_once("::").expect("the path of a test");
        let host = usize::from(rank) % hosts.count();
        let program = std::env::current_exe().expect("this program's path");
        let mut command = hosts.command(host, program);
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        command.env(RANK, rank.to_string());
        command.env(HOST, hosts.address(host));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("a process");
        Process {
            rank,
            orders: child.stdin.take().expect("a pipe"),
            said: child.stdout.take().map(|out| BufReader::new(out).lines()),
            child,
        }
    }

    /// What it has bound; the test's own program says other things before.
    fn address(&mut self) -> String {
        let said = self.said.as_mut().expect("not taken");
        let mut lines = said.map(|line| line.expect("text"));
        let found = lines.find_map(|line| Some(line.split_once(ADDRESS)?.1.to_owned()));
        found.expect("a rank ended before it was on the network")
    }

    /// Whoever ends at this moment does not hear it.
    fn say(&mut self, line: &str) {
        let _ = writeln!(self.orders, "{line}");
    }
}

/// Becomes that rank.
fn join(peer: Peer, ppm: u32) -> Rank {
    let host: IpAddr = std::env::var(HOST)
        .ok()
        .and_then(|at| at.parse().ok())
        .expect("a host");
    let bound = Udp::bind(host).expect("an address of this host");
    let own = bound.address();
    println!("{ADDRESS}{own}");
    let mut orders = BufReader::new(std::io::stdin()).lines();
    let table = orders.next().expect("a table").expect("text");
    let table: Result<Vec<SocketAddr>, _> = table.split(' ').map(str::parse).collect();
    let udp = bound
        .join(peer, table.expect("addresses"))
        .expect("the table");
    let job = Arc::new(Job::default());
    let told = job.clone();
    std::thread::spawn(move || {
        // Whoever sleeps hears nothing of the list: a stranger's frame wakes it.
        let stranger = UdpSocket::bind((host, 0)).expect("a socket");
        for order in orders.map_while(Result::ok) {
            let rank = order.strip_prefix(GONE).and_then(|rank| rank.parse().ok());
            told.0
                .lock()
                .expect("nobody panics with it")
                .push(Peer(rank.expect("a rank")));
            let _ = stranger.send_to(b"wake up", own);
        }
    });
    let lossy = FaultyNetwork::with_loss(udp, Rate::ppm(ppm), 0x5eed);
    Rank::new(lossy, job)
}
