//! The core alone: a process that posts to itself, with tables and buffers in place, without an allocator.

use super::*;
use crate::Peer;
use crate::aspect::{Buffered, Homogeneous, NoDatatypes, Rendezvous, Static, Unobserved};
use crate::channel::SelfChannel;
use crate::matching::Linear;
use crate::{Capacities, Composition, Memory, Sink, Source};
use zerocopy::little_endian::U32;

const LONGEST: usize = 200;

type Bytes = heapless::Vec<u8, LONGEST>;

struct Fixed;

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
    fn provide(_spare: Option<In>, room: usize, _what: Use) -> Option<In> {
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

fn out(bytes: &[u8]) -> Out {
    Out(Bytes::from_slice(bytes).expect("short"))
}

#[test]
fn a_process_without_an_allocator_posts_to_itself() {
    let classes = SizeClasses::new(6, 2);
    let mut system =
        System::<_, Fixed, Small>::new(SelfChannel::<1024>::new(), classes).expect("it fits");
    let name = Name::new("own").expect("a name");
    let (mine, request) = system.create(name).expect("room");
    assert_eq!(system.created(mine, &request), Some(Ok(())));
    let again = system.create(name).expect("asked");
    assert_eq!(system.created(again.0, &again.1), Some(Err(Error::Exists)));
    let found = system.lookup(name).expect("asked");
    assert_eq!(system.found(&found), Some(Ok(mine)));

    for round in 0..10_u8 {
        let posted = system.post(mine, out(&[round; 20]));
        assert!(matches!(posted, Ok(Posted::Done(_))));
        while system.progress().expect("it works") {}
        let letter = system.retrieve(mine).expect("live").expect("a message");
        assert_eq!(Fixed::bytes(&letter.buffer), [round; 20]);
        let held = system.tokens(mine, 20).expect("a class");
        assert_eq!((held.posted, held.held), (1, 1));
        system.give_back(letter);
    }
    // Longer than all classes: by the large protocol.
    let large = system
        .post_large(mine, out(&[7; 150]))
        .map_err(|(_, error)| error);
    let large = large.expect("posted");
    let letter = loop {
        system.progress().expect("it works");
        if let Some(letter) = system.retrieve(mine).expect("live") {
            break letter;
        }
    };
    assert_eq!(Fixed::bytes(&letter.buffer), [7; 150]);
    system.give_back(letter);
    while system.progress().expect("it works") {}
    assert!(matches!(system.posted(&large), Some((_, Ok(())))));

    system.destroy(mine).expect("live");
    let refused = system.post(mine, out(&[])).map_err(|(_, error)| error);
    assert!(matches!(refused, Err(Error::Vanished)));
    assert!(matches!(system.retrieve(mine), Err(Error::Vanished)));
}

#[test]
fn names_of_lost_processes_make_room() {
    let mut names = name::Names::<Small>::new();
    let of = |peer: u16| Address {
        peer: Peer(peer),
        index: 0,
        generation: 0,
    };
    for number in 0..24_u8 {
        let name = Name::new(core::str::from_utf8(&[b'a' + number]).expect("a letter"));
        names
            .add(name.expect("a name"), of(u16::from(number % 2)))
            .expect("room");
    }
    let last = Name::new("last").expect("a name");
    assert_eq!(names.add(last, of(2)), Err(Error::TooManyNames));
    names.retain(|owner| owner.peer != Peer(1));
    assert_eq!(names.add(last, of(2)), Ok(()));
    let known = |letter| names.find(&Name::new(letter).expect("a name")).is_some();
    assert!(known("a") && known("last") && !known("b"));
}
