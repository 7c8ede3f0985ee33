//! Raw Ethernet between hosts: who can, and whether the frames of everybody arrive. `opening` only.

use super::opening::Addresses;
use crate::place::launcher::{Launcher, Word};
use crate::place::{Job, Met, PlaceError, read};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use pombo_kernel::channel::Arrival;
use pombo_kernel::{Network, Node, Part};
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{Address, EthernetError, Opened, Seat, Traffic, longest};

/// Why a rank cannot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Why {
    /// It was told to use something else.
    NotAsked,
    /// It has no right to send raw frames.
    NoRight,
    /// It finds no interface, or none of Ethernet.
    NoInterface,
    /// Its interface is down.
    NoLink,
    /// It does not hear that rank.
    Unheard {
        /// The rank.
        rank: usize,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::NotAsked => "was told to use another network: give POMBO_NET to all alike",
            Why::NoRight => {
                "has no right to send raw frames: `pombo setup` on its host tells how to get it"
            }
            Why::NoInterface => "has no Ethernet interface that would do: name one in POMBO_NET",
            Why::NoLink => "has an interface that is down: set it up, and put its cable in",
            Why::Unheard { rank } => {
                return write!(
                    f,
                    "hears no frames of rank {rank}: put all hosts on one segment, or use UDP"
                );
            }
        })
    }
}

/// As they stand in the words of ranks.
const NAMES: [(&str, Why); 4] = [
    ("other", Why::NotAsked),
    ("right", Why::NoRight),
    ("interface", Why::NoInterface),
    ("link", Why::NoLink),
];

impl Why {
    pub(super) fn name(self) -> &'static str {
        let named = NAMES.iter().find(|(_, why)| *why == self);
        named.map_or("interface", |(name, _)| name)
    }

    pub(super) fn read(name: &str) -> Option<Self> {
        let named = NAMES.iter().find(|(known, _)| *known == name);
        named.map(|(_, why)| *why)
    }

    /// In short, for other ranks.
    pub(super) fn of(error: &PlaceError) -> Self {
        match error {
            PlaceError::NoEthernet { why, .. } => *why,
            PlaceError::Ethernet(
                EthernetError::NoRight { .. } | EthernetError::Forbidden { .. },
            ) => Why::NoRight,
            _ => Why::NoInterface,
        }
    }
}

/// A seat at the interface of that name, or at the only one with a link.
pub(super) fn open(
    name: &str,
    (job, node): (Job, Node),
    traffic: Traffic,
) -> Result<Opened, PlaceError> {
    let job = job.id as u16;
    let opened = Ethernet::open(name, Seat { job, node, traffic })?;
    match opened.interface().running {
        true => Ok(opened),
        false => Err(refuse(node.index(), Why::NoLink)),
    }
}

/// At the interface that has this address.
pub(super) fn open_at(ip: IpAddr, (job, node): (Job, Node)) -> Result<Opened, PlaceError> {
    let all = pombo_netdrivers::udp::interfaces()?;
    let at = all.iter().find(|one| one.address == ip && !one.loopback);
    let why = Why::NoInterface;
    let at = at.ok_or(refuse(node.index(), why))?;
    open(&at.name, (job, node), Traffic::Single)
}

/// That rank cannot.
pub(super) fn refuse(rank: usize, why: Why) -> PlaceError {
    PlaceError::NoEthernet { rank, why }
}

/// Joins the others if all of them are there and hear each other; all ranks get the same answer.
pub(super) fn join(
    opened: Result<Opened, PlaceError>,
    met: &Met,
    all: &[Addresses],
    launcher: &mut Launcher,
) -> Result<Ethernet, PlaceError> {
    let mut addresses: Vec<Address> = Vec::new();
    for (rank, at) in all.iter().enumerate() {
        addresses.push(at.raw.map_err(|why| refuse(rank, why))?);
    }
    let mut device = opened?.join(&addresses)?;
    let trial = Trial::of(&device, met);
    // All have called before anybody counts the time, and what comes meanwhile waits: nobody need be quick to be heard.
    trial.call(&mut device);
    launcher.exchange("pombo-called", &Word::from("-"))?;
    let heard = trial.hear(&mut device);
    let words = read(
        &launcher.exchange("pombo-heard", &heard.word())?,
        |_, word| Ok(Heard::read(word)),
    )?;
    for (rank, heard) in words.into_iter().enumerate() {
        match heard {
            Heard::All => {}
            Heard::Short => device.shorten(longest(USUAL)),
            Heard::Not(unheard) => return Err(refuse(rank, Why::Unheard { rank: unheard })),
        }
    }
    // All of that was sent before all had said so, and nobody says anything else yet.
    while device.poll(|_| ()).is_ok_and(|any| any) {}
    Ok(device)
}

/// Nanoseconds that ranks wait for each other's first frames when all have sent some: far longer than those take where
/// they come at all.
const TRIAL: u64 = 1_000_000_000;
/// Nanoseconds between two frames to a rank, and how many it gets at least: any of them may be lost.
const ROUND: u64 = 20_000_000;
const ROUNDS: u64 = 3;

/// What every interface carries in one piece, and every switch.
const USUAL: usize = 1500;

/// Which ranks of other hosts a rank has heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heard {
    All,
    /// All, but of some no frames that are longer than usual: a switch in between does not carry them.
    Short,
    /// Not this one.
    Not(usize),
}

impl Heard {
    fn word(self) -> Word {
        match self {
            Heard::All => Word::from("-"),
            Heard::Short => Word::from("short"),
            Heard::Not(rank) => Word::of(format_args!("{rank}")),
        }
    }

    fn read(word: &str) -> Self {
        match word {
            "short" => Heard::Short,
            word => word.parse().map_or(Heard::All, Heard::Not),
        }
    }
}

/// The ranks of other hosts, and the longest frame that each of them gets, filled with something. Where that is longer
/// than a usual one, each gets one of those as well.
struct Trial {
    others: Vec<Node>,
    text: Vec<u8>,
}

impl Trial {
    fn of(device: &Ethernet, met: &Met) -> Self {
        let nodes = (0..device.nodes()).map(|node| Node(node as u16));
        let is_far = |node: &Node| !met.hosts.are_near(met.me, *node);
        Trial {
            others: nodes.filter(is_far).collect(),
            text: vec![b'?'; device.mtu()],
        }
    }

    fn usual(&self) -> usize {
        self.text.len().min(longest(USUAL))
    }

    /// Says something to each of them.
    fn call(&self, device: &mut Ethernet) {
        let mut lengths = vec![self.usual(), self.text.len()];
        lengths.dedup();
        for node in &self.others {
            for len in &lengths {
                // One that does not leave is like one that is lost.
                let _ = device.transmit(*node, &[Part::Bytes(&self.text[..*len])]);
            }
        }
    }

    /// Hears something of each of them, and goes on calling meanwhile.
    fn hear(&self, device: &mut Ethernet) -> Heard {
        let usual = self.usual();
        let mut missing = [self.others.clone(), self.others.clone()];
        missing[1].retain(|_| self.text.len() > usual);
        let (begin, mut rounds, mut idle) = (device.now(), 0, 0);
        loop {
            let now = device.now();
            if now >= begin + rounds * ROUND || missing.iter().all(Vec::is_empty) {
                rounds += 1;
                self.call(device);
            }
            let came = device.poll(|frame| {
                missing[usize::from(frame.len() > usual)].retain(|node| *node != frame.from());
            });
            // Time is up when nothing waits to be read any more.
            let over = came.is_err() || came == Ok(false) && now >= begin + TRIAL;
            if missing.iter().all(Vec::is_empty) && rounds >= ROUNDS || over {
                return match missing.map(|missing| missing.first().copied()) {
                    [Some(node), _] => Heard::Not(node.index()),
                    [None, Some(_)] => Heard::Short,
                    [None, None] => Heard::All,
                };
            }
            idle = if came == Ok(true) { 0 } else { idle + 1 };
            let _ = device.wait(idle, begin + rounds * ROUND);
        }
    }
}
