//! Serial lines that lose, change and invent bytes: frames come whole or not at all, and with `Reliable` above all come.

use pombo_kernel::channel::{Arrival, ChannelError, WaitSet};
use pombo_kernel::network::Network;
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::fault::{Rate, SeededRng};
use pombo_testing::conformance::{Harness, SupervisedChannel, Supervisor, threads};
use pombo_transport::ContiguousFrame;
use pombo_transport::reliable::Window;
use pombo_transport::serial_line::{ByteStream, SerialLine};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// One direction: so many bytes are under way at most.
type Pipe = Arc<Mutex<VecDeque<u8>>>;
const UNDER_WAY: usize = 2000;

/// An end of a line in memory.
struct Memory {
    tx: Pipe,
    rx: Pipe,
    /// Bytes lost, and as many changed.
    faults: Rate,
    rng: SeededRng,
    begin: Instant,
}

fn ends(faults: Rate, seed: u64) -> [Memory; 2] {
    let pipes: [Pipe; 2] = Default::default();
    let begin = Instant::now();
    [0, 1].map(|me| Memory {
        tx: pipes[me].clone(),
        rx: pipes[1 - me].clone(),
        faults,
        rng: SeededRng::stream(seed, me as u64),
        begin,
    })
}

impl ByteStream for Memory {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, ChannelError> {
        let mut rx = self.rx.lock().expect("nobody panics with it");
        let count = into.len().min(rx.len());
        let bytes = rx.drain(..count);
        into.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, ChannelError> {
        let mut tx = self.tx.lock().expect("nobody panics with it");
        let count = bytes.len().min(UNDER_WAY - tx.len());
        for byte in &bytes[..count] {
            let changed = u8::from(self.rng.chance(self.faults)) << self.rng.below(8);
            if !self.rng.chance(self.faults) {
                tx.push_back(byte ^ changed);
            }
        }
        Ok(count)
    }

    fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    fn wait(&mut self, _idle: u32, _until: u64) -> Result<(), ChannelError> {
        std::thread::yield_now();
        Ok(())
    }
}

const N: usize = 300;
type Line = SerialLine<Memory, N>;

/// What a sender writes for these frames, each by itself.
fn written(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let [sender, _] = ends(Rate::NEVER, 0);
    let pipe = sender.tx.clone();
    let mut sender = Line::new(sender, Peer(0)).expect("an end");
    let write = |frame: &Vec<u8>| {
        let (first, rest) = frame.split_at(frame.len() / 2);
        let parts = [Part::Bytes(first), Part::Bytes(rest)];
        sender.transmit(Peer(1), &parts).expect("room");
        pipe.lock()
            .expect("nobody panics with it")
            .drain(..)
            .collect()
    };
    frames.iter().map(write).collect()
}

/// What a receiver makes of these bytes, which come in pieces of these lengths, over and over.
fn read(bytes: &[u8], pieces: &[usize]) -> (Vec<Vec<u8>>, u64) {
    let [other, receiver] = ends(Rate::NEVER, 0);
    let pipe = other.tx.clone();
    let mut receiver = Line::new(receiver, Peer(1)).expect("an end");
    let (mut frames, mut rest) = (Vec::new(), bytes);
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (first, behind) = rest.split_at(rest.len().min(*piece));
        pipe.lock().expect("nobody panics with it").extend(first);
        let poll = receiver.poll(|frame| {
            assert_eq!(frame.from(), Peer(0));
            frames.push(frame.bytes().to_vec());
        });
        poll.expect("it is up");
        rest = behind;
    }
    (frames, receiver.damaged())
}

fn frames() -> impl Strategy<Value = Vec<Vec<u8>>> {
    // Zeros are what stuffing is about.
    let byte = prop_oneof![Just(0_u8), any::<u8>()];
    let lengths = prop_oneof![1..20_usize, 250..=N - 4];
    vec(
        lengths.prop_flat_map(move |len| vec(byte.clone(), len)),
        1..6,
    )
}

proptest! {
    /// In any pieces, and with noise between them: every frame comes once, in order.
    #[test]
    fn noise_between_frames_costs_none(
        frames in frames(),
        noise in vec(vec(any::<u8>(), 0..400), 7),
        pieces in vec(1..100_usize, 1..8),
    ) {
        let mut line = noise[0].clone();
        for (frame, noise) in written(&frames).into_iter().zip(&noise[1..]) {
            line.extend(frame);
            line.extend(noise);
        }
        prop_assert_eq!(read(&line, &pieces).0, frames);
    }

    /// Bytes of one frame are lost, changed, and invented: it comes as it was or not at all, and all others come.
    #[test]
    fn noise_within_a_frame_costs_that_one(
        frames in frames(),
        which in any::<prop::sample::Index>(),
        faults in vec((any::<prop::sample::Index>(), 0..3, any::<u8>()), 1..6),
        pieces in vec(1..100_usize, 1..8),
    ) {
        let mut line = written(&frames);
        let which = which.index(frames.len());
        for (at, fault, byte) in faults {
            // The zeros at both ends belong to the neighbours too.
            let damaged = &mut line[which];
            if damaged.len() > 2 {
                let at = 1 + at.index(damaged.len() - 2);
                match fault {
                    0 => drop(damaged.remove(at)),
                    1 => damaged[at] = byte,
                    _ => damaged.insert(at, byte),
                }
            }
        }
        let (received, _) = read(&line.concat(), &pieces);
        let mut others = frames.clone();
        others.remove(which);
        prop_assert!(received == frames || received == others);
    }
}

/// A line that echoes brings back what this end has sent.
#[test]
fn an_echo_is_no_frame() {
    let [mut own, _] = ends(Rate::NEVER, 0);
    own.rx = own.tx.clone();
    let mut own = Line::new(own, Peer(0)).expect("an end");
    own.transmit(Peer(1), &[Part::Bytes(b"hello")])
        .expect("room");
    assert_eq!(own.poll(|_| panic!("an echo")), Ok(false));
    assert_eq!(own.damaged(), 1);
}

#[test]
fn a_line_has_two_ends_and_a_longest_frame() {
    let [one, other] = ends(Rate::NEVER, 0);
    let refused = Line::new(other, Peer(2)).map(|_| ());
    assert_eq!(refused, Err(ChannelError::NoSuchPeer(Peer(2))));
    let mut one = Line::new(one, Peer(1)).expect("an end");
    assert_eq!((one.me(), one.peers(), one.mtu()), (Peer(1), 2, N - 4));
    let long = [0; N];
    let mut send = |to, len| one.transmit(Peer(to), &[Part::Bytes(&long[..len])]);
    let limit = N - 4;
    assert_eq!(send(0, limit + 1), Err(ChannelError::TooLong { limit }));
    assert_eq!(send(2, 1), Err(ChannelError::NoSuchPeer(Peer(2))));
    // The line takes six of them and a part of the seventh.
    let taken = (0..20).take_while(|_| send(0, limit).is_ok()).count();
    assert_eq!(taken, UNDER_WAY / N + 1);
    assert_eq!(send(0, 1), Err(ChannelError::Full));
}

/// A line from each peer to each other one: what the conformance suite runs on, which wants up to eight.
struct Mesh {
    me: Peer,
    /// None: this peer itself.
    lines: Vec<Option<Line>>,
    begin: Instant,
}

fn meshes(peers: u16, faults: Rate) -> Vec<Mesh> {
    let mesh = |me| Mesh {
        me: Peer(me),
        lines: (0..peers).map(|_| None).collect(),
        begin: Instant::now(),
    };
    let mut meshes: Vec<Mesh> = (0..peers).map(mesh).collect();
    for high in 0..usize::from(peers) {
        for low in 0..high {
            let [zero, one] = ends(faults, (high * 8 + low) as u64);
            meshes[low].lines[high] = Line::new(zero, Peer(0)).ok();
            meshes[high].lines[low] = Line::new(one, Peer(1)).ok();
        }
    }
    meshes
}

impl Network for Mesh {
    type Frame<'a> = ContiguousFrame<'a>;

    fn me(&self) -> Peer {
        self.me
    }

    fn peers(&self) -> usize {
        self.lines.len()
    }

    fn is_checked(&self) -> bool {
        true
    }

    fn mtu(&self) -> usize {
        N - 4
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let line = self.lines.get_mut(to.index()).and_then(Option::as_mut);
        let line = line.ok_or(ChannelError::NoSuchPeer(to))?;
        line.transmit(Peer(1 - line.me().0), parts)
    }

    fn set_corked(&mut self, _on: bool) {}

    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        let mut any = false;
        for (peer, line) in self.lines.iter_mut().enumerate() {
            if let Some(line) = line {
                let from = Peer(peer as u16);
                any |= line.poll(|frame| f(ContiguousFrame::new(from, frame.bytes())))?;
            }
        }
        Ok(any)
    }

    fn wait(&mut self, _idle: u32, _until: u64) -> Result<(), ChannelError> {
        std::thread::yield_now();
        Ok(())
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        None
    }

    fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }
}

#[derive(Default)]
struct Job(Mutex<Vec<Peer>>);

impl Supervisor for Job {
    fn departed(&self) -> &Mutex<Vec<Peer>> {
        &self.0
    }
}

macro_rules! conforms {
    ($name:ident, $faults:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Harness for World {
                type Channel = SupervisedChannel<Mesh, Window<8, 16, N>, Job>;

                fn run(_test: &str, peers: u16, body: fn(Self::Channel)) {
                    let job = Arc::<Job>::default();
                    let meshes = meshes(peers, $faults).into_iter();
                    let channels = meshes.map(|mesh| Self::Channel::new(mesh, job.clone()));
                    threads(channels.collect(), body);
                }
            }

            pombo_testing::conformance!(World);
        }
    };
}

conforms!(clean, Rate::NEVER);
conforms!(noisy, Rate::ppm(200));
