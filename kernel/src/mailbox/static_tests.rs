//! The core alone: a process that posts to itself, with tables and buffers in place, without an allocator.

use super::state::LETTERS;
use super::*;
use crate::aspect::{Buffered, Homogeneous, NoDatatypes, Rendezvous, Static, Unobserved};
use crate::channel::SelfChannel;
use crate::communicator::PointToPointExt;
use crate::matching::Linear;
use crate::{Capacities, Composition, Memory, Sink, Source};
use zerocopy::little_endian::U32;

const LONGEST: usize = 200;

type Bytes = heapless::Vec<u8, LONGEST>;

struct Fixed;

#[derive(Default)]
struct Out(Bytes);

struct In {
    bytes: Bytes,
    room: usize,
}

impl Memory for Fixed {
    type Out = Out;
    type In = In;
}

impl Source for Out {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.0[offset..offset + into.len()]);
    }
}

impl Sink for In {
    fn len(&self) -> usize {
        self.room
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        let _ = self.bytes.resize(offset, 0);
        let _ = self.bytes.extend_from_slice(from);
    }
}

impl Buffers for Fixed {
    fn provide(_spare: Option<In>, room: usize, _is_large: bool) -> Option<In> {
        let bytes = Bytes::new();
        (room <= LONGEST).then_some(In { bytes, room })
    }

    fn bytes(buffer: &In) -> &[u8] {
        &buffer.bytes
    }
}

type Small = Composition<
    U32,
    Rendezvous<64>,
    Linear,
    Static,
    Capacities<24, 8, 64, 1>,
    Unobserved,
    NoDatatypes,
    Homogeneous,
    Buffered,
>;

type Tested = System<SelfChannel<1024>, Fixed, Small>;

fn out(bytes: &[u8]) -> Out {
    Out(Bytes::from_slice(bytes).expect("short"))
}

#[test]
fn a_process_without_an_allocator_posts_to_itself() {
    let classes = SizeClasses::new(6, 2);
    let mut system = Tested::new(SelfChannel::new(), classes).expect("it fits");
    let name = Name::new("own").expect("a name");
    let answer = |system: &mut Tested, request| loop {
        system.progress().expect("it works");
        if let Some(answer) = system.found(&request) {
            return answer;
        }
    };
    let request = system.create(name).expect("room");
    let mine = answer(&mut system, request).expect("a new name");
    let request = system.create(name).expect("asked");
    assert_eq!(answer(&mut system, request), Err(Error::Exists));
    let request = system.lookup(name).expect("asked");
    assert_eq!(answer(&mut system, request), Ok(mine));

    for round in 0..10_u8 {
        let posted = system.post(mine, &mut out(&[round; 20]), false);
        assert!(matches!(posted, Ok(None)));
        while system.progress().expect("it works") {}
        let letter = system.retrieve(mine).expect("live").expect("a message");
        assert_eq!(Fixed::bytes(&letter.buffer), [round; 20]);
        let held = system.tokens(mine, 20, false).expect("a class");
        assert_eq!((held.posted, held.held), (1, 1));
        system.give_back(letter);
    }
    // Longer than all classes: by the large protocol.
    let large = system.post(mine, &mut out(&[7; 150]), true);
    let large = large.expect("live").expect("it waits to be retrieved");
    let letter = loop {
        system.progress().expect("it works");
        if let Some(letter) = system.retrieve(mine).expect("live") {
            break letter;
        }
    };
    assert_eq!(Fixed::bytes(&letter.buffer), [7; 150]);
    system.give_back(letter);
    while system.progress().expect("it works") {}
    assert!(matches!(system.posted(&large, None), Some((_, Ok(())))));

    system.destroy(mine).expect("live");
    let refused = system.post(mine, &mut out(&[]), false);
    assert!(matches!(refused, Err(Error::Vanished)));
    assert!(matches!(system.retrieve(mine), Err(Error::Vanished)));
}

/// Creates a mailbox of this process.
fn created(system: &mut Tested, name: &str) -> Address {
    let request = system
        .create(Name::new(name).expect("a name"))
        .expect("room");
    loop {
        system.progress().expect("it works");
        if let Some(answer) = system.found(&request) {
            return answer.expect("new");
        }
    }
}

fn settle(system: &mut Tested) {
    while system.progress().expect("it works") {}
}

/// The message behind one that is too long waits in the pool; the buffer of that one takes it without an event.
#[test]
fn a_message_behind_one_that_failed_is_found() {
    let mut system = Tested::new(SelfChannel::new(), SizeClasses::new(6, 1)).expect("it fits");
    let mine = created(&mut system, "own");
    let me = system.me();
    // Class 5 has 24 bytes.
    let mut letters = system.endpoint.port::<LETTERS>();
    let sent = letters.isend(me, Mail::new(5, mine, 1000), out(&[1; 30]));
    assert!(sent.is_ok());
    let posted = system.post(mine, &mut out(&[2; 20]), false);
    assert!(posted.is_ok());
    settle(&mut system);
    let mut retrieve = || {
        settle(&mut system);
        system.retrieve(mine).expect("live")
    };
    let letter = retrieve().or_else(retrieve).expect("the second message");
    assert_eq!(Fixed::bytes(&letter.buffer)[0], 2);
}

/// Messages to a destroyed mailbox leave the pool when an operation is free again, if none was when it was destroyed.
#[test]
fn messages_to_a_destroyed_mailbox_wait_for_an_operation() {
    let mut system = Tested::new(SelfChannel::new(), SizeClasses::new(4, 1)).expect("it fits");
    let (mine, other) = (created(&mut system, "mine"), created(&mut system, "other"));
    for _ in 0..3 {
        let posted = system.post(mine, &mut out(&[1; 5]), false);
        assert!(posted.is_ok());
    }
    settle(&mut system);
    let waiting = |system: &mut Tested| system.endpoint.port::<LETTERS>().lengths().unexpected;
    assert_eq!(waiting(&mut system), 2);
    system.destroy(mine).expect("live");
    let nobody = Address {
        peer: system.me(),
        index: 99,
        generation: 9,
    };
    let mut tickets = heapless::Vec::<_, 64>::new();
    while let Ok(ticket) = system.endpoint.port::<LETTERS>().irecv(
        Wanted::new(9, nobody, None),
        Fixed::provide(None, 8, false).expect("memory"),
    ) {
        assert!(tickets.push(ticket).is_ok());
    }
    settle(&mut system);
    assert_eq!(waiting(&mut system), 2);
    for ticket in tickets {
        system.endpoint.port::<LETTERS>().release(ticket);
    }
    let posted = system.post(other, &mut out(&[1; 5]), false);
    assert!(posted.is_ok());
    settle(&mut system);
    assert_eq!(waiting(&mut system), 0);
}
