//! Tests forged frames: one rank of three forges any frames. No rank panics, frames that violate the protocol are
//! counted, and the traffic of the other two ranks is not affected.

use crate::common::*;
use pombo_kernel::{
    Channel, Communicator, Cookie, Error, Limits, Memory, Mode, Part, Peer, Sent, Sink, Ticket,
};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::fault::Rate;
use pombo_testing::{AdversarialChannel, Profile};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// The forging rank; the honest ranks are 0 and 1.
const FORGER: u16 = 2;

/// Memory of receives that the test can read at any time.
struct Watched;

#[derive(Clone)]
struct Window(Rc<RefCell<Vec<u8>>>);

impl Memory for Watched {
    type Out = Bytes;
    type In = Window;
}

impl Sink for Window {
    fn len(&self) -> usize {
        self.0.borrow().len()
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self.0.borrow_mut()[offset..offset + from.len()].copy_from_slice(from);
    }
}

impl Window {
    fn new(room: usize) -> Self {
        Window(Rc::new(RefCell::new(vec![UNTOUCHED; room])))
    }
}

const UNTOUCHED: u8 = 0xA5;

/// More frames than are forged at a time.
const IN_FLIGHT: usize = 200;

type Rank = Communicator<Tagged, AdversarialChannel<Loopback>, Watched, Tiny>;

#[derive(Clone, Debug)]
enum Act {
    Forge {
        to: u16,
        frame: Vec<u8>,
    },
    /// A send between the honest ranks.
    Send {
        from: u16,
        len: usize,
        synchronous: bool,
    },
    Receive {
        at: u16,
    },
    /// A send to or from the forger.
    SendToForger {
        from: u16,
        len: usize,
    },
    ReceiveFromForger {
        at: u16,
        wildcard: bool,
        room: usize,
    },
    Cancel {
        at: u16,
        which: usize,
    },
    Probe {
        at: u16,
        source: Option<u16>,
    },
    Poll {
        at: u16,
    },
    ForgerReads,
}

/// Generates frames of known and unknown kinds, with fields that name something or nothing.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let handle = || {
        prop_oneof![
            8 => (0..12u32, 0..60u32),
            1 => (Just(u32::MAX), 0..8u32),
            1 => any::<(u32, u32)>(),
        ]
        .prop_map(|(slot, generation)| {
            let mut bytes = slot.to_le_bytes().to_vec();
            bytes.extend(generation.to_le_bytes());
            bytes
        })
    };
    let length = prop_oneof![3 => 0..200u32, 1 => any::<u32>()];
    let length = length.prop_map(|n| n.to_le_bytes().to_vec());
    let header = (0..3u16, -1..4i32).prop_map(|(context, tag)| {
        let mut bytes = context.to_le_bytes().to_vec();
        bytes.extend(tag.to_le_bytes());
        bytes
    });
    let flag = (0..3u8).prop_map(|flag| vec![flag]);
    let rest = prop::collection::vec(any::<u8>(), 0..80);
    let field = prop_oneof![
        4 => handle().boxed(),
        3 => length.boxed(),
        3 => header.boxed(),
        2 => flag.boxed(),
        1 => rest.boxed(),
    ];
    let fields = prop::collection::vec(field, 0..5);
    let known = (1..14u8, prop_oneof![Just(0u8), any::<u8>()], fields).prop_map(
        |(kind, credit, fields)| {
            let mut bytes = vec![kind, credit];
            bytes.extend(fields.concat());
            bytes.truncate(128);
            bytes
        },
    );
    prop_oneof![12 => known.boxed(), 1 => prop::collection::vec(any::<u8>(), 1..128).boxed()]
}

fn act() -> impl Strategy<Value = Act> {
    let honest = 0..2u16;
    let len = prop_oneof![0..16usize, 16..300usize];
    prop_oneof![
        10 => (honest.clone(), frame()).prop_map(|(to, frame)| Act::Forge { to, frame }),
        3 => (honest.clone(), len.clone(), any::<u8>())
            .prop_map(|(from, len, coin)| Act::Send { from, len, synchronous: coin < 50 }),
        3 => honest.clone().prop_map(|at| Act::Receive { at }),
        2 => (honest.clone(), len).prop_map(|(from, len)| Act::SendToForger { from, len }),
        2 => (honest.clone(), any::<bool>(), 0..300usize)
            .prop_map(|(at, wildcard, room)| Act::ReceiveFromForger { at, wildcard, room }),
        1 => (honest.clone(), 0..20usize).prop_map(|(at, which)| Act::Cancel { at, which }),
        1 => (honest.clone(), prop::option::of(0..3u16)).prop_map(|(at, source)| Act::Probe { at, source }),
        8 => honest.prop_map(|at| Act::Poll { at }),
        1 => Just(Act::ForgerReads),
    ]
}

struct World {
    ranks: Vec<Rank>,
    forger: AdversarialChannel<Loopback>,
    /// By sender, in order.
    sent: [Vec<(Ticket, Vec<u8>)>; 2],
    /// By receiver, in order.
    received: [Vec<(Ticket, Window)>; 2],
    /// Operations with the forger.
    shady: [Vec<Ticket>; 2],
}

impl World {
    fn new(profile: Profile, seed: u64) -> Self {
        let mut channels = adversarial(3, IN_FLIGHT, profile, seed);
        let forger = channels.pop().expect("three");
        let limits = Limits {
            credit: Some(1),
            eager: None,
            copies: None,
        };
        let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
        World {
            ranks: channels.into_iter().map(over).collect(),
            forger,
            sent: Default::default(),
            received: Default::default(),
            shady: Default::default(),
        }
    }

    /// Sends a forged frame, whatever the channel's profile.
    fn forge(&mut self, to: Peer, frame: &[u8]) {
        let below = self.forger.inner_mut().expect("it is up");
        let sent = below.try_send(to, Cookie::COPY, &[Part::Bytes(frame)]);
        assert_eq!(sent, Ok(Sent::Done));
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Forge { to, frame } => self.forge(Peer(*to), frame),
            &Act::Send {
                from,
                len,
                synchronous,
            } => {
                let mode = [Mode::Standard, Mode::Synchronous][usize::from(synchronous)];
                let bytes = payload(self.sent[usize::from(from)].len(), len);
                let sent = Bytes(bytes.clone());
                let rank = &mut self.ranks[usize::from(from)];
                let ticket = rank.isend_as(mode, Peer(1 - from), tagged(7), sent);
                let ticket = ticket.map_err(Error::from).expect("sent");
                self.sent[usize::from(from)].push((ticket, bytes));
            }
            &Act::Receive { at } => self.receive(at),
            &Act::SendToForger { from, len } => {
                let rank = &mut self.ranks[usize::from(from)];
                let sent = rank.isend(Peer(FORGER), tagged(1), Bytes(payload(1, len)));
                self.shady[usize::from(from)].push(sent.map_err(Error::from).expect("sent"));
            }
            &Act::ReceiveFromForger { at, wildcard, room } => {
                // Tags up to 3 belong to the forger, 7 to the honest ranks.
                let pattern = match wildcard {
                    true => wanted(None, Some(2)),
                    false => wanted(Some(FORGER), None),
                };
                let rank = &mut self.ranks[usize::from(at)];
                let posted = rank.irecv(pattern, Window::new(room));
                self.shady[usize::from(at)].push(posted.map_err(Error::from).expect("posted"));
            }
            &Act::Cancel { at, which } => {
                if let Some(ticket) = self.shady[usize::from(at)].get(which) {
                    self.ranks[usize::from(at)].cancel(*ticket).expect("known");
                }
            }
            &Act::Probe { at, source } => {
                let rank = &mut self.ranks[usize::from(at)];
                rank.probe(wanted(source, None)).expect("nobody is lost");
            }
            &Act::Poll { at } => {
                let rank = &mut self.ranks[usize::from(at)];
                rank.check_messages().expect("it does not break");
            }
            Act::ForgerReads => {
                self.forger.poll(|_| ()).expect("it does not break");
            }
        }
    }

    fn receive(&mut self, at: u16) {
        let window = Window::new(300);
        let posted = self.ranks[usize::from(at)].irecv(wanted(Some(1 - at), None), window.clone());
        let ticket = posted.map_err(Error::from).expect("posted");
        self.received[usize::from(at)].push((ticket, window));
    }

    /// Checks that the honest traffic arrived in order, whole and once, and that buffers without a message are
    /// unchanged.
    fn check(&mut self) {
        for at in 0..2 {
            while self.received[at].len() < self.sent[1 - at].len() {
                self.receive(at as u16);
            }
        }
        for _ in 0..1000 {
            for rank in &mut self.ranks {
                rank.check_messages().expect("it does not break");
            }
            self.forger.poll(|_| ()).expect("it does not break");
        }
        for at in 0..2 {
            let sent = core::mem::take(&mut self.sent[1 - at]);
            for (index, (ticket, window)) in self.received[at].drain(..).enumerate() {
                let over = self.ranks[at].claim(ticket).expect("known");
                let Some((_, bytes)) = sent.get(index) else {
                    assert!(over.is_none());
                    assert!(window.0.borrow().iter().all(|byte| *byte == UNTOUCHED));
                    continue;
                };
                let over = over.unwrap_or_else(|| panic!("message {index} of {}", 1 - at));
                assert_eq!(over.outcome, Ok(bytes.len()));
                let window = window.0.borrow();
                assert_eq!(window[..bytes.len()], bytes[..]);
                assert!(window[bytes.len()..].iter().all(|byte| *byte == UNTOUCHED));
            }
            for (ticket, bytes) in sent {
                let over = self.ranks[1 - at].claim(ticket).expect("known");
                assert_eq!(over.expect("over").outcome, Ok(bytes.len()));
            }
        }
    }

    /// Checks that the operations with the forger end when it leaves.
    fn close(self) {
        let World {
            mut ranks,
            forger,
            shady,
            ..
        } = self;
        drop(forger);
        settle_adversarial(&mut ranks);
        for (rank, shady) in ranks.iter_mut().zip(shady) {
            for ticket in shady {
                rank.cancel(ticket).expect("known");
                let over = rank.claim(ticket).expect("known");
                assert!(over.is_some(), "it waits for a lost rank");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn forged_frames_harm_nobody_else(
        acts in prop::collection::vec(act(), 1..120),
        later in 0..50u32,
        seed in any::<u64>(),
    ) {
        let ten = Rate::percent(10);
        let later = Rate::percent(later);
        let profile = Profile { later, full: ten, skipped_sender: ten, late_completion: ten, ..Profile::BENIGN };
        let mut world = World::new(profile, seed);
        for act in &acts {
            world.act(act);
        }
        world.check();
        world.close();
    }
}

/// Frames that end too early, unknown kinds and handles that name nothing are all counted.
#[test]
fn what_cannot_be_explained_is_counted() {
    let mut world = World::new(Profile::BENIGN, 1);
    let mut frames = vec![vec![0], vec![1], vec![0, 0], vec![14, 0], vec![255, 255]];
    // Every kind with fields, cut after the preamble.
    frames.extend(
        (1..14)
            .filter(|kind| ![6, 10].contains(kind))
            .map(|kind| vec![kind, 0]),
    );
    // Request, Data and Abort of an operation that does not exist.
    for kind in [3, 4, 5] {
        frames.push([&[kind, 0][..], &[0; 40]].concat());
    }
    for (count, frame) in frames.iter().enumerate() {
        world.forge(Peer(0), frame);
        world.ranks[0].check_messages().expect("it does not break");
        assert_eq!(world.ranks[0].rejected(), count as u64 + 1, "{frame:?}");
    }
    assert_eq!(world.ranks[0].lengths().unexpected, 0);
}

/// A sender that ignores its credit takes no cells of others.
#[test]
fn nobody_takes_the_places_of_others() {
    let mut world = World::new(Profile::BENIGN, 1);
    let eager = [1, 0, 1, 0, 1, 0, 0, 0, b'x'];
    for _ in 0..100 {
        world.forge(Peer(0), &eager);
    }
    for _ in 0..100 {
        world.ranks[0].check_messages().expect("it does not break");
    }
    assert_eq!(world.ranks[0].lengths().unexpected, 1, "its credit was one");
    assert_eq!(world.ranks[0].rejected(), 99);
}

/// At every moment of an exchange by offer, request and data, a third rank names every operation in frames of every
/// kind. The exchange is not affected.
#[test]
fn nobody_speaks_for_others() {
    for moment in 0..12 {
        for kind in [3, 4, 5, 11, 12, 13] {
            let mut channels = adversarial(3, IN_FLIGHT, Profile::BENIGN, 1);
            let receiver = channels.pop().expect("three");
            let sender = channels.pop().expect("three");
            let mut forger = channels.pop().expect("three");
            let limits = Limits {
                credit: Some(1),
                eager: None,
                copies: None,
            };
            let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
            let mut ranks: [Rank; 2] = [sender, receiver].map(over);
            let sent = [(1, 10), (2, 10), (3, 1000)].map(|(tag, len)| {
                let sent = ranks[0].isend(Peer(2), tagged(tag), Bytes(payload(3, len)));
                sent.map_err(Error::from).expect("sent")
            });
            let windows = [3, 2, 1].map(|tag| {
                let window = Window::new(1000);
                let posted = ranks[1].irecv(wanted(Some(1), Some(tag)), window.clone());
                (posted.map_err(Error::from).expect("posted"), window)
            });
            for round in 0..60 {
                if round / 2 == moment {
                    for (slot, generation) in
                        (0..4u32).flat_map(|slot| (0..8u32).map(move |g| (slot, g)))
                    {
                        let mut frame = vec![kind, 0];
                        frame.extend(slot.to_le_bytes());
                        frame.extend(generation.to_le_bytes());
                        frame.extend([1; 16]);
                        let forged = [Part::Bytes(&frame)];
                        let sent = forger.try_send(Peer(1 + round % 2), Cookie::COPY, &forged);
                        assert_eq!(sent, Ok(Sent::Done));
                    }
                }
                ranks[usize::from(round % 2)]
                    .check_messages()
                    .expect("it does not break");
            }
            for ticket in sent {
                let over = ranks[0].claim(ticket).expect("known");
                assert!(
                    over.is_some_and(|over| over.outcome.is_ok()),
                    "kind {kind}, moment {moment}"
                );
            }
            for (ticket, window) in windows {
                let over = ranks[1].claim(ticket).expect("known");
                let len = over.expect("over").outcome.expect("received");
                assert_eq!(window.0.borrow()[..len], payload(3, len));
            }
        }
    }
}
