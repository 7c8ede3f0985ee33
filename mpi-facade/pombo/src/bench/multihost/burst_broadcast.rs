//! `pombo __bursts`: the broadcast of ECCLib, in bursts that stop until every receiver has everything, as a reference
//! beside MPI libraries. `multihost` starts it where the hosts are, `main` dispatches to it.
//!
//! One process has a raw socket on every host and a thread for each, and measures by turns as `bench.c` does.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use pombo_kernel::Peer;
use pombo_kernel::network::Network;
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::ethernet::{Ethernet, FrameAddress, Traffic};
use pombo_transport::multicast::{
    GroupCapacities, GroupId, HEADER_LEN, Receiver, Repair, Sender, SenderConfig, WireGroup,
};
use pombo_transport::reliable::Timing;

use super::super::measured_value::Spread;
use crate::console::tell;
use crate::error::Error;

/// The subcommand's name.
pub(crate) const NAME: &str = "__bursts";

/// How bursts are repaired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Bursts {
    /// The title of the column.
    pub(in super::super) name: &'static str,
    /// The job number, so that kinds that wait side by side ignore each other's frames.
    job: u16,
    /// Payload bytes of a packet.
    packet: usize,
    /// Packets of a burst.
    packets: u16,
    /// Nanoseconds of silence after which receivers report; `None` if the last packet of a burst requests the reports.
    quiet: Option<u64>,
}

/// The best parameters with a last packet; with a timer, the largest packets that fit a frame.
pub(in super::super) const KINDS: [Bursts; 2] = [
    Bursts {
        name: "bursts-last",
        job: 0xecc1,
        packet: 1024,
        packets: 64,
        quiet: None,
    },
    Bursts {
        name: "bursts-timer",
        job: 0xecc2,
        packet: 1453,
        packets: 160,
        quiet: Some(2_000_000),
    },
];

/// Every message is announced, however short, as in ECCLib.
type Sizes = GroupCapacities<64, 1500, 32, 1>;
const GROUP: WireGroup = WireGroup {
    group: GroupId(1),
    epoch: 0xecc1,
};
/// There is a single path, so frames do not overtake each other.
const TIMING: Timing = Timing {
    report_after: 200_000,
    least: 2_000_000,
    most: 200_000_000,
    first: 10_000_000,
    overtakers: 1,
};
/// Largest number of messages per turn.
const MOST: usize = 25;
/// As in `bench.c`: bytes of consecutive messages, and their number.
const IN_ONE_GO: usize = 4 << 20;
const MOST_IN_ONE_GO: usize = 16;
/// Longest sleep in nanoseconds: an idle receiver checks whether the measurement is over.
const NAP: u64 = 2_000_000;
/// Bytes of a frame before a packet, plus the additional bytes of a repair.
const BESIDES: usize = HEADER_LEN + 7;

/// Measures by turns until the launcher ends: KIND RANKS turns PREFIX LIMIT.
pub(crate) fn main(words: &[std::ffi::OsString]) -> Result<u8, Error> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let [kind, ranks, "turns", prefix, _] = words[..] else {
        return Err(wrong(&words.join(" ")));
    };
    let kind = KINDS.iter().find(|one| one.name == kind);
    let ranks = ranks.parse().ok().filter(|ranks| (2..=64).contains(ranks));
    let (Some(kind), Some(ranks)) = (kind, ranks) else {
        return Err(wrong(&words.join(" ")));
    };
    let mut bench = Bench::new(kind, network(kind.job, ranks)?)?;
    let path = format!("{prefix}.0");
    let commands = File::open(&path).map_err(Error::file("open", path))?;
    tell(&format!(
        "library bursts of {} packets of {} bytes\n",
        kind.packets,
        bench.sender.chunk()
    ));
    for line in BufReader::new(commands).lines() {
        let line = line.map_err(Error::system("read whose turn it is"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [seconds, name, size] = words[..] else {
            return Err(wrong(&line));
        };
        let (Ok(seconds), Ok(size)) = (seconds.parse(), size.parse()) else {
            return Err(wrong(&line));
        };
        bench.measure(name, size, seconds)?;
    }
    Ok(0)
}

fn wrong(given: &str) -> Error {
    Error::Value {
        what: NAME,
        given: given.to_owned(),
        want: "nothing by hand: `pombo bench --hosts` calls it",
    }
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::System {
        doing: "broadcast in bursts",
        source: std::io::Error::other(why.to_string()),
    }
}

/// Opens a raw socket on each of the hosts.
fn network(job: u16, ranks: u16) -> Result<Vec<Ethernet>, Error> {
    let open = |rank: u16| {
        let path = format!("/run/netns/h{rank}");
        let space = File::open(&path).map_err(Error::file("open", path))?;
        // A separate thread opens the socket, because the thread stays in that host's namespace.
        let opened = thread::spawn(move || {
            setns(space, CloneFlags::CLONE_NEWNET).map_err(failed)?;
            let frame_address = FrameAddress {
                job,
                peer: Peer(rank),
                traffic: Traffic::Multicast,
            };
            Ethernet::open("eth0", frame_address).map_err(failed)
        });
        opened.join().map_err(|_| failed("a thread ended"))?
    };
    let opened: Vec<_> = (0..ranks).map(open).collect::<Result<_, Error>>()?;
    let table: Vec<_> = opened.iter().map(|one| one.address()).collect();
    let joined = opened
        .into_iter()
        .map(|one| one.join(&table).map_err(failed));
    joined.collect()
}

/// One sender and its receivers.
struct Bench {
    peers: Vec<Ethernet>,
    sender: Sender<Sizes, HeapStorage>,
    sinks: Vec<Receiver<Sizes, HeapStorage>>,
}

impl Bench {
    fn new(kind: &Bursts, peers: Vec<Ethernet>) -> Result<Bench, Error> {
        let receivers = (1..peers.len() as u16).map(Peer);
        let repair = Repair::Bursts {
            packets: kind.packets,
            asked: kind.quiet.is_none(),
        };
        let config = SenderConfig {
            repair,
            ..SenderConfig::default()
        };
        let sink = |_| Receiver::new(GROUP, Peer(0), TIMING, kind.quiet);
        let sinks = receivers.clone().map(sink).collect();
        let sender = Sender::new(GROUP, receivers, kind.packet + BESIDES, config, TIMING);
        Ok(Bench {
            peers,
            sender: sender.map_err(failed)?,
            sinks,
        })
    }

    /// Sends as many messages as there is time for, and prints the result.
    fn measure(&mut self, name: &str, size: usize, seconds: f64) -> Result<(), Error> {
        let message: Vec<u8> = (0..size).map(|place| (place ^ place >> 8) as u8).collect();
        let repeats = match name {
            "cast" => (IN_ONE_GO / size.max(1)).clamp(1, MOST_IN_ONE_GO),
            _ => 1,
        };
        let mut values = Vec::new();
        let mut spent = 0.0;
        while values.is_empty() || (values.len() < MOST && spent < seconds) {
            let took = self.cast(&message, repeats)?.as_secs_f64();
            spent += took;
            let took = took / repeats as f64;
            values.push(match name {
                "cast-time" => took * 1e6,
                _ => size as f64 / took / 1e6,
            });
        }
        let unit = if name == "cast-time" { "us" } else { "MB/s" };
        let Spread { median, low, high } = Spread::among(values.into_iter());
        tell(&format!(
            "bench {name} {size} {median} {low} {high} {unit}\n"
        ));
        Ok(())
    }

    /// Returns the time until the last receiver has got the message `repeats` times.
    fn cast(&mut self, message: &[u8], repeats: usize) -> Result<Duration, Error> {
        let (first, others) = self
            .peers
            .split_first_mut()
            .ok_or_else(|| failed("no host"))?;
        let (ready, is_over) = (Barrier::new(others.len() + 1), AtomicBool::new(false));
        let (ready, is_over) = (&ready, &is_over);
        thread::scope(|scope| {
            let sides = others.iter_mut().zip(&mut self.sinks);
            let receivers = sides.map(|(network, sink)| {
                scope.spawn(move || {
                    let mut buffer = vec![0; message.len()];
                    ready.wait();
                    let end = receive(network, sink, &mut buffer, repeats, is_over)?;
                    let is_right = buffer == message;
                    is_right
                        .then_some(end)
                        .ok_or_else(|| failed("other bytes came than were sent"))
                })
            });
            let receivers: Vec<_> = receivers.collect();
            ready.wait();
            let start = Instant::now();
            let sent = (0..repeats).try_for_each(|_| send(first, &mut self.sender, message));
            is_over.store(true, Ordering::Release);
            let ends: Vec<_> = receivers.into_iter().map(|one| one.join()).collect();
            sent?;
            let mut last = start;
            for end in ends {
                last = last.max(end.map_err(|_| failed("a thread ended"))??);
            }
            Ok(last - start)
        })
    }
}

fn send(
    network: &mut Ethernet,
    sender: &mut Sender<Sizes, HeapStorage>,
    message: &[u8],
) -> Result<(), Error> {
    sender.send(&message).map_err(failed)?;
    let (me, mut idle) = (network.me(), 0);
    while !sender.send_due(network, &message).map_err(failed)? {
        let now = network.now();
        let heard = network.poll(|frame| sender.on_frame(&frame, now, Some(me)));
        idle = if heard.map_err(failed)? { 0 } else { idle + 1 };
        if idle > 0 {
            let until = sender.deadline().min(now + NAP);
            network.wait(idle - 1, until).map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns when the last message was complete. Answers the sender until it has finished or failed, so that the other
/// receivers get the message too.
fn receive(
    network: &mut Ethernet,
    sink: &mut Receiver<Sizes, HeapStorage>,
    buffer: &mut [u8],
    mut repeats: usize,
    is_over: &AtomicBool,
) -> Result<Instant, Error> {
    let mut end = None;
    let (me, mut idle) = (network.me(), 0);
    loop {
        let over = is_over.load(Ordering::Acquire);
        if repeats > 0 && sink.receive(&mut *buffer).map_err(failed)?.is_some() {
            repeats -= 1;
            end = (repeats == 0).then(Instant::now);
        }
        let now = network.now();
        let heard = network.poll(|frame| sink.on_frame(&frame, &mut *buffer, now, Some(me)));
        sink.send_due(network).map_err(failed)?;
        if heard.map_err(failed)? {
            idle = 0;
        } else if over {
            return end.ok_or_else(|| failed("the sender went before all was there"));
        } else {
            let until = sink.deadline().min(now + NAP);
            network.wait(idle, until).map_err(failed)?;
            idle += 1;
        }
    }
}
