//! Tables of groups at work: several groups among several peers, every member a source, over a random plan of faults;
//! groups that open late at some, peers that do nothing for a while or crash, groups closed with reports outstanding.

use crate::schedules::{Told, number, run_all};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::network::Network;
use pombo_kernel::{Error, Peer};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::fault::{Faults, SeededRng};
use pombo_testing::{DeviceLimits, LinkParameters, Sim, SimNetwork};
use pombo_transport::multicast::{
    BufferProvider, GroupCapacities, GroupId, GroupTable, MulticastStats, Repair, SendStatus,
    SenderConfig,
};
use pombo_transport::reliable::Timing;
use std::collections::HashMap;
use std::sync::OnceLock;

const USUAL: u64 = 5_000;
/// Turns until a schedule counts as hanging; most take some thousands.
const HANG: u32 = 2_000_000;

type Table<const KEPT: usize> =
    GroupTable<SimNetwork, GroupCapacities<5, 1500, KEPT, 200, 3>, HeapStorage>;

/// The messages of every member of one group, by their lengths.
#[derive(Debug)]
struct Plan {
    id: GroupId,
    members: Vec<u16>,
    messages: HashMap<u16, Vec<usize>>,
}

struct Rank<const KEPT: usize> {
    me: u16,
    table: Table<KEPT>,
    /// Groups of the plan that were opened, and those that are closed.
    opened: usize,
    closed: Vec<bool>,
    /// By group and source: how many messages are through.
    done: HashMap<(usize, u16), usize>,
    memory: Memory,
    wakes: u64,
}

#[derive(Default)]
struct Memory {
    out: HashMap<GroupId, &'static [u8]>,
    into: HashMap<(GroupId, u16), Vec<u8>>,
}

impl BufferProvider for Memory {
    type Out = &'static [u8];
    type Into = [u8];

    fn outgoing(&mut self, group: GroupId) -> Option<&&'static [u8]> {
        self.out.get(&group)
    }

    fn incoming(&mut self, group: GroupId, source: Peer) -> Option<&mut [u8]> {
        let buffer = self.into.get_mut(&(group, source.0));
        buffer.map(|buffer| &mut buffer[..])
    }
}

struct World<const KEPT: usize> {
    sim: Sim,
    ranks: Vec<Option<Rank<KEPT>>>,
    plans: Vec<Plan>,
    rng: SeededRng,
    /// Who crashes, when, and how much later that is known.
    crash: Option<(usize, u64, u64)>,
    known: bool,
    idle: u32,
}

impl<const KEPT: usize> World<KEPT> {
    fn new(mut rng: SeededRng, seed: u64, loud: bool) -> Self {
        let peers = 2 + rng.below(4) as u16;
        let faults = Faults::random(&mut rng, peers, 300_000, 5_000_000);
        let limits = DeviceLimits {
            mtu: 256 + rng.index(1500),
            tx_queue: 1 + rng.index(40),
            rx_queue: 4 + rng.index(100),
        };
        let timing = Timing {
            overtakers: 1 + rng.below(4) as u16,
            ..Timing::default()
        };
        let config = SenderConfig {
            repair: [Repair::Coded, Repair::Plain][rng.index(2)],
            window: 1 + rng.below(256) as u16,
            ask_after: 1 + rng.below(40) as u16,
        };
        let crash = (rng.index(4) == 0).then(|| {
            let who = rng.index(peers.into());
            (who, rng.below(5_000_000), rng.below(20_000_000))
        });
        let plans = plans(&mut rng, peers);
        if loud {
            eprintln!("{peers} peers, {KEPT} kept, {limits:?}, {timing:?}, {config:?}");
            eprintln!("crash {crash:?}\n{plans:#?}\n{faults:?}");
        }
        let (sim, networks) = Sim::with(peers, limits, LinkParameters::default(), faults, seed);
        let rank = |network: SimNetwork| {
            Some(Rank {
                me: network.me().0,
                table: Table::with(network, 7, config, timing),
                opened: 0,
                closed: vec![false; plans.len()],
                done: HashMap::new(),
                memory: Memory::default(),
                wakes: 0,
            })
        };
        World {
            ranks: networks.into_iter().map(rank).collect(),
            sim,
            plans,
            rng,
            crash,
            known: false,
            idle: 0,
        }
    }

    fn run(mut self) -> MulticastStats {
        for send_due in 0.. {
            assert!(send_due < HANG, "it hangs: {}", self.state());
            self.fail();
            let at = self.rng.index(self.ranks.len());
            self.act(at);
            if send_due % 16 == 0 && self.is_done() {
                break;
            }
        }
        self.rest();
        let first = self.ranks.iter().flatten().next();
        first.map(|rank| rank.table.counts()).unwrap_or_default()
    }

    fn state(&self) -> String {
        let ranks = self.ranks.iter().flatten();
        let state = ranks.map(|rank| {
            let Rank {
                me, done, closed, ..
            } = rank;
            format!(
                "{me}: {done:?}, closed {closed:?}, {:?}",
                rank.table.counts()
            )
        });
        format!(
            "at {} ns\n{}",
            self.sim.now(),
            state.collect::<Vec<_>>().join("\n")
        )
    }

    fn fail(&mut self) {
        let Some((who, when, later)) = self.crash else {
            return;
        };
        if self.sim.now() >= when {
            self.ranks[who] = None;
        }
        if self.sim.now() >= when + later && !self.known {
            self.known = true;
            let ranks = self.ranks.iter_mut().flatten();
            ranks.for_each(|rank| rank.table.declare_lost(Peer(who as u16)));
        }
    }

    fn act(&mut self, at: usize) {
        let now = self.sim.now();
        let Some(rank) = self.ranks[at].as_mut().filter(|rank| rank.wakes <= now) else {
            return self.pass();
        };
        if self.rng.index(300) == 0 {
            rank.wakes = now + self.rng.below(20_000_000);
            return;
        }
        let lost = self.crash.filter(|_| self.known).map(|(who, ..)| who);
        let mut moved = rank.open(&self.plans, &mut self.rng, lost);
        for (at, plan) in self.plans.iter().enumerate().take(rank.opened) {
            for source in &plan.members {
                moved |= self.rng.index(3) != 0 && rank.go_on(at, plan, *source);
            }
            moved |= rank.close(at, plan);
        }
        moved |= rank.poll();
        match moved {
            true => self.idle = 0,
            false => {
                rank.table.wait(0).expect("it is up");
                self.pass();
            }
        }
    }

    /// Time passes, the faster the longer nothing happens.
    fn pass(&mut self) {
        self.idle = (self.idle + 1).min(60);
        self.sim.advance(self.rng.below(100 << (self.idle / 4)));
    }

    fn is_done(&self) -> bool {
        let known = self.known || self.crash.is_none_or(|(who, ..)| self.ranks[who].is_some());
        let over = |rank: &Rank<KEPT>| {
            let all = rank.closed.iter().all(|closed| *closed);
            all && rank.table.is_settled()
        };
        known && self.ranks.iter().flatten().all(over)
    }

    /// In the end nobody says anything any more.
    fn rest(&mut self) {
        for _ in 0..100 {
            for rank in self.ranks.iter_mut().flatten() {
                rank.table.poll(&mut rank.memory).expect("it is up");
                assert!(
                    rank.table.has_room(),
                    "a group that is closed keeps its place"
                );
            }
            self.sim.advance(5_000_000);
        }
        for rank in self.ranks.iter_mut().flatten() {
            assert_eq!(rank.table.poll(&mut rank.memory), Ok(false), "they chatter");
        }
    }
}

/// Three to six groups, at most three of which are open at once at any peer.
fn plans(rng: &mut SeededRng, peers: u16) -> Vec<Plan> {
    let mut id = 0;
    let plan = |_| {
        id += 1 + rng.below(3) as u32;
        let mut members: Vec<u16> = (0..peers).filter(|_| rng.index(4) > 0).collect();
        if members.is_empty() {
            members.push(0);
        }
        let messages = members.iter().map(|source| {
            let count = rng.index(2) * rng.index(12);
            let len = |_| {
                let most = [1, 30, 201, 201, 4000, 30_000][rng.index(6)];
                rng.index(most)
            };
            (*source, (0..count).map(len).collect())
        });
        Plan {
            id: GroupId(id),
            messages: messages.collect(),
            members,
        }
    };
    (0..1 + peers).map(plan).collect()
}

/// Bytes that differ with the message and with every place in it.
fn payload(group: GroupId, source: u16, nth: usize, len: usize) -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    let bytes = BYTES.get_or_init(|| crate::cast::bytes(1 << 17, 9));
    let start = (group.0 as usize * 7919 + usize::from(source) * 4057 + nth * 131) % 50_000;
    &bytes[start..start + len]
}

impl<const KEPT: usize> Rank<KEPT> {
    /// The next group, now or later.
    fn open(&mut self, plans: &[Plan], rng: &mut SeededRng, lost: Option<usize>) -> bool {
        let Some(plan) = plans.get(self.opened).filter(|_| rng.index(20) == 0) else {
            return false;
        };
        if !plan.members.contains(&self.me) {
            self.closed[self.opened] = true;
        } else if self.table.has_room() {
            let members = plan.members.iter().map(|peer| Peer(*peer));
            self.table.open(plan.id, members).expect("there is room");
            if let Some(lost) = lost {
                self.table.declare_lost(Peer(lost as u16));
            }
        } else {
            return false;
        }
        self.opened += 1;
        true
    }

    /// The next message of that source.
    fn go_on(&mut self, at: usize, plan: &Plan, source: u16) -> bool {
        if self.closed[at] {
            return false;
        }
        let nth = *self.done.entry((at, source)).or_default();
        let Some(len) = plan.messages[&source].get(nth) else {
            return false;
        };
        let bytes = payload(plan.id, source, nth, *len);
        let through = match source == self.me {
            true => self.send(plan.id, bytes),
            false => self.receive(plan.id, source, bytes),
        };
        *self.done.entry((at, source)).or_default() += match through {
            Ok(through) => usize::from(through),
            // Nothing more comes.
            Err(_) => plan.messages[&source].len(),
        };
        through != Ok(false)
    }

    fn send(&mut self, group: GroupId, bytes: &'static [u8]) -> Result<bool, Error> {
        if self.memory.out.contains_key(&group) {
            let sent = self.table.is_sent(group).expect("it is open");
            if sent {
                self.memory.out.remove(&group);
            }
            return Ok(sent);
        }
        match self.table.send(group, &bytes) {
            Ok(SendStatus::Copied) => Ok(true),
            Ok(SendStatus::Borrowed) => {
                self.memory.out.insert(group, bytes);
                Ok(false)
            }
            Err(error) => {
                assert_eq!(error, Error::Channel(ChannelError::Full));
                Ok(false)
            }
        }
    }

    fn receive(&mut self, group: GroupId, source: u16, bytes: &[u8]) -> Result<bool, Error> {
        let room = || vec![0; bytes.len()];
        let buffer = self.memory.into.entry((group, source)).or_insert_with(room);
        match self.table.receive(group, Peer(source), &mut buffer[..]) {
            Ok(None) => Ok(false),
            Ok(Some(len)) => {
                assert!(
                    len == bytes.len() && buffer == bytes,
                    "other bytes than were sent"
                );
                self.memory.into.remove(&(group, source));
                Ok(true)
            }
            Err(error) => {
                assert_eq!(error, Error::PeerLost(Peer(source)));
                Err(error)
            }
        }
    }

    fn close(&mut self, at: usize, plan: &Plan) -> bool {
        let through = |source: &u16| {
            let done = self.done.get(&(at, *source)).copied().unwrap_or(0);
            done >= plan.messages[source].len()
        };
        if self.closed[at] || !plan.members.iter().all(through) {
            return false;
        }
        self.table.close(plan.id).expect("it is open");
        self.closed[at] = true;
        true
    }

    fn poll(&mut self) -> bool {
        self.table.poll(&mut self.memory).expect("it is up")
    }
}

fn run(seed: u64, loud: bool) -> MulticastStats {
    let _told = Told(seed, "table");
    let mut rng = SeededRng::new(seed);
    match rng.index(3) {
        0 => World::<1>::new(rng, seed, loud).run(),
        1 => World::<4>::new(rng, seed, loud).run(),
        _ => World::<32>::new(rng, seed, loud).run(),
    }
}

#[test]
fn no_table_fails() {
    match number("POMBO_SCHEDULE") {
        Some(seed) => eprintln!("{:?}", run(seed, true)),
        None => run_all(USUAL, |seed| {
            run(seed, false);
        }),
    }
}

/// A seed is a schedule.
#[test]
fn a_table_repeats_exactly() {
    for seed in 0..30 {
        assert_eq!(run(seed, false), run(seed, false), "schedule {seed}");
    }
}
