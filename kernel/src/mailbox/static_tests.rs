//! The core alone: a process that posts to itself, with tables and buffers in place, without an allocator.

use super::*;
use crate::aspect::{Buffered, Homogeneous, NoDatatypes, Rendezvous, Static, Unobserved};
use crate::channel::SelfChannel;
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
