//! The kernel's rendezvous where receivers read from the senders' memory: ranks are processes, every message that does
//! not fit into a frame is offered.
#![cfg(all(feature = "shm", target_os = "linux"))]

#[path = "../../tests/common/numbered.rs"]
mod numbered;
#[allow(dead_code, reason = "these ranks end well")]
mod processes;

use std::mem::MaybeUninit;

use numbered::{Numbered, select};
use pombo_kernel::aspect::{EarlyData, Rendezvous};
use pombo_kernel::channel::Channel;
use pombo_kernel::matching::Linear;
use pombo_kernel::{
    Capacities, Communicator, Composition, Endpoint, Error, Loan, Memory, Peer, PointToPoint, Port,
    Sink, Source,
};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::shm::{FRAME_LIMIT, Shm, SingleCopy};
use zerocopy::little_endian::{I32, U32, U64};

macro_rules! path {
    ($test:ident) => {
        concat!(module_path!(), "::", stringify!($test))
    };
}

type Hosted =
    Composition<U64, Rendezvous<4096>, Linear, HeapStorage, Capacities<4096, 1024, 4096, 8>>;
type Comm = Communicator<Numbered, Shm, Still, Hosted>;

/// Memory that stays where it is.
struct Still;

impl Memory for Still {
    type Out = Text;
    type In = Room;
}

/// Lent for a send.
struct Text {
    bytes: Vec<u8>,
    /// Left out at the front.
    start: usize,
    /// Where it says it lies, if that is not true.
    lies: Option<usize>,
    copied: std::cell::Cell<usize>,
}

impl Source for Text {
    fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
        assert!(offset + len <= self.len());
        let place = self.bytes[self.start + offset..].as_ptr();
        Some(self.lies.map_or(place, std::ptr::without_provenance))
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        self.copied.set(self.copied.get() + into.len());
        into.copy_from_slice(&self.bytes[self.start + offset..][..into.len()]);
    }
}

/// Lent for a receive.
struct Room {
    bytes: Vec<MaybeUninit<u8>>,
    /// Left out at the front.
    start: usize,
    one_piece: bool,
}

impl Room {
    fn new(len: usize, start: usize, one_piece: bool) -> Self {
        let bytes = vec![MaybeUninit::new(0xEE); len + start];
        Self {
            bytes,
            start,
            one_piece,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: all were written when it was made.
        let byte = |byte: &MaybeUninit<u8>| unsafe { byte.assume_init() };
        self.bytes[self.start..].iter().map(byte).collect()
    }
}

impl Sink for Room {
    fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    fn space(&mut self, offset: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let room = &mut self.bytes[self.start + offset..][..len];
        self.one_piece.then_some(room)
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        let room = &mut self.bytes[self.start + offset..][..from.len()];
        for (place, byte) in room.iter_mut().zip(from) {
            place.write(*byte);
        }
    }
}

fn comm(mut shm: Shm) -> Comm {
    shm.set_single_copy(SingleCopy::AtLeast(0));
    Comm::new(shm).expect("it fits")
}

fn message(number: usize, len: usize) -> Vec<u8> {
    let byte = |i: usize| ((i * 7) ^ (i >> 8) ^ (number * 31)) as u8;
    (0..len).map(byte).collect()
}

fn header(number: usize) -> Numbered {
    Numbered {
        tag: I32::new(5),
        number: U32::new(number as u32),
    }
}

fn text(number: usize, len: usize, start: usize) -> Text {
    let mut bytes = vec![0x11; start];
    bytes.extend(message(number, len));
    Text {
        bytes,
        start,
        lies: None,
        copied: 0.into(),
    }
}

/// Sends it, and says how many bytes of it were copied by this side.
fn send(
    comm: &mut impl PointToPoint<Header = Numbered, Memory = Still>,
    number: usize,
    text: Text,
) -> usize {
    let sent = comm.isend(Peer(1), header(number), text);
    let ticket = sent.map_err(|_| "refused").expect("a send");
    let done = comm.wait(ticket).expect("it ends");
    let Loan::Sent(text) = done.loan else {
        panic!("it was lent for a send")
    };
    assert_eq!(done.outcome, Ok(text.len()));
    text.copied.get()
}

/// Receives it, as far as there is room.
fn receive(
    comm: &mut impl PointToPoint<Header = Numbered, Memory = Still>,
    number: usize,
    len: usize,
    room: Room,
) {
    let fits = room.len();
    let posted = comm.irecv(select(Some(0), Some(5)), room);
    let ticket = posted.map_err(|_| "refused").expect("a receive");
    let done = comm.wait(ticket).expect("it ends");
    let Loan::Received(room) = done.loan else {
        panic!("it was lent for a receive")
    };
    if len <= fits {
        assert_eq!(done.outcome, Ok(len));
    } else {
        let cut = Error::Truncated {
            sent: len,
            room: fits,
        };
        assert_eq!(done.outcome, Err(cut));
    }
    let (bytes, stored) = (room.bytes(), len.min(fits));
    assert!(
        bytes[..stored] == message(number, len)[..stored],
        "{len} {fits}"
    );
    assert!(bytes[stored..].iter().all(|byte| *byte == 0xEE));
    assert!(room.bytes[..room.start].len() == room.start);
}

const LENGTHS: [usize; 8] = [
    0,
    1,
    5000,
    FRAME_LIMIT,
    FRAME_LIMIT + 1,
    100_003,
    1 << 20,
    (5 << 20) + 7,
];

/// Whole, cut, not aligned, into one piece and into several.
#[test]
fn all_lengths_into_all_rooms() {
    processes::run(path!(all_lengths_into_all_rooms), 2, |shm| {
        let mut comm = comm(shm);
        let mut number = 0;
        for len in LENGTHS {
            for room in [len, 0, len / 2, FRAME_LIMIT + 1, len + 3] {
                for (from, to, one_piece) in [(0, 0, true), (1, 0, true), (3, 2, false)] {
                    number += 1;
                    if comm.me() == Peer(1) {
                        receive(&mut comm, number, len, Room::new(room, to, one_piece));
                        continue;
                    }
                    let copied = send(&mut comm, number, text(number, len, from));
                    let want = len.min(room);
                    let offered = len > 4096 && want > FRAME_LIMIT;
                    let expected = match len {
                        _ if offered => 0,
                        ..=4096 => len,
                        _ => want,
                    };
                    assert_eq!(copied, expected, "{len} into {room}");
                }
            }
        }
        assert_eq!(comm.rejected(), 0);
        bootstrap(&mut comm);
    });
}

/// Nobody goes before the other is through.
fn bootstrap(comm: &mut Comm) {
    let me = comm.me().0;
    let sent = comm.send(
        Peer(1 - me),
        Numbered {
            tag: I32::new(9),
            number: U32::new(0),
        },
        b"",
    );
    assert_eq!(sent, Ok(()));
    let met = comm.recv(select(Some(1 - me), Some(9)), &mut []);
    assert!(met.is_ok());
}

/// Many at a time, more than a rank may offer, in both directions.
#[test]
fn many_at_a_time() {
    processes::run(path!(many_at_a_time), 2, |shm| {
        let mut comm = comm(shm);
        let (me, len) = (comm.me().0, 50_000);
        let peer = 1 - me;
        let posted: Vec<_> = (0..200)
            .map(|number| {
                let (source, tag) = (Some(peer), Some(number));
                let posted = comm.irecv(select(source, tag), Room::new(len, 0, number % 3 > 0));
                posted.map_err(|_| "refused").expect("a receive")
            })
            .collect();
        let sent: Vec<_> = (0..200)
            .map(|number| {
                let header = Numbered {
                    tag: I32::new(number),
                    number: U32::new(0),
                };
                let sent = comm.isend(Peer(peer), header, text(number as usize, len, 1));
                sent.map_err(|_| "refused").expect("a send")
            })
            .collect();
        for (number, ticket) in posted.into_iter().enumerate() {
            let done = comm.wait(ticket).expect("it ends");
            assert_eq!(done.outcome, Ok(len));
            let Loan::Received(room) = done.loan else {
                panic!("it was lent for a receive")
            };
            assert!(room.bytes() == message(number, len));
        }
        for ticket in sent {
            assert_eq!(comm.wait(ticket).expect("it ends").outcome, Ok(len));
        }
        assert_eq!(comm.rejected(), 0);
        bootstrap(&mut comm);
    });
}

/// What was announced may be withdrawn as ever, and disturbs nothing.
#[test]
fn cancelled() {
    processes::run(path!(cancelled), 2, |shm| {
        let mut comm = comm(shm);
        for number in 0..50 {
            if comm.me() == Peer(0) {
                let sent = comm.isend(Peer(1), header(number), text(number, 100_000, 0));
                let ticket = sent.map_err(|_| "refused").expect("a send");
                if number % 2 == 0 {
                    comm.cancel(ticket).expect("it is there");
                }
                let outcome = comm.wait(ticket).expect("it ends").outcome;
                assert!(outcome == Ok(100_000) || outcome == Err(Error::Cancelled));
                let tell = Numbered {
                    tag: I32::new(6),
                    number: U32::new(outcome.is_ok().into()),
                };
                assert_eq!(comm.send(Peer(1), tell, b""), Ok(()));
                continue;
            }
            // Either the message or the word that it was withdrawn.
            let first = comm.wait_probe(select(Some(0), None)).expect("it comes");
            if first.header().tag.get() == 5 {
                let matched = comm
                    .matched_probe(select(Some(0), Some(5)))
                    .expect("it may");
                if let Some((ticket, _)) = matched {
                    let room = Room::new(100_000, 0, true);
                    let taken = comm.irecv_matched(ticket, room);
                    taken.map_err(|_| "refused").expect("it is there");
                    let done = comm.wait(ticket).expect("it ends");
                    let Loan::Received(room) = done.loan else {
                        panic!("it was lent for a receive")
                    };
                    assert_eq!(done.outcome, Ok(100_000));
                    assert!(room.bytes() == message(number, 100_000));
                }
            }
            assert!(comm.recv(select(Some(0), Some(6)), &mut []).is_ok());
        }
        assert_eq!(comm.rejected(), 0);
        bootstrap(&mut comm);
    });
}

/// Memory that the system does not let others read comes by copies, and so does everything after it.
#[test]
fn memory_that_cannot_be_read() {
    processes::run(path!(memory_that_cannot_be_read), 2, |shm| {
        let mut comm = comm(shm);
        for number in 0..10 {
            let len = 300_000 + number;
            if comm.me() == Peer(1) {
                receive(&mut comm, number, len, Room::new(len, 0, number % 2 == 0));
                continue;
            }
            let mut text = text(number, len, 0);
            text.lies = (number == 3).then_some(1);
            let copied = send(&mut comm, number, text);
            assert_eq!(copied, if number < 3 { 0 } else { len });
        }
        assert_eq!(comm.rejected(), 0);
        bootstrap(&mut comm);
    });
}

/// A system that forbids it to the receiver: a container's filter, say.
#[test]
fn a_system_that_forbids_it() {
    processes::run(path!(a_system_that_forbids_it), 2, |shm| {
        let mut comm = comm(shm);
        if comm.me() == Peer(1) {
            forbid();
        }
        for number in 0..10 {
            let len = 300_000 + number;
            if comm.me() == Peer(1) {
                receive(&mut comm, number, len, Room::new(len, 0, true));
            } else {
                assert_eq!(send(&mut comm, number, text(number, len, 0)), len);
            }
        }
        assert_eq!(comm.rejected(), 0);
        bootstrap(&mut comm);
    });
}

/// From now on this process may not read another one's memory.
fn forbid() {
    let step = |code: u32, yes, no, k: u32| libc::sock_filter {
        code: code as u16,
        jt: yes,
        jf: no,
        k,
    };
    // The number of the call; that one fails, all others go on.
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_process_vm_readv as u32,
        ),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: numbers, and a program that is valid for the call, which copies it.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    };
    assert!(installed, "this system has no filters");
}

/// Offers a message only where it is asked for the third time, so that most are offered in part.
struct SometimesOffers {
    shm: Shm,
    asked: std::cell::Cell<u32>,
}

impl Channel for SometimesOffers {
    type Arrival<'a> = <Shm as Channel>::Arrival<'a>;

    pombo_kernel::forward_channel! {
        shm: me, peers, limit, favours_early_data, try_send, set_corked, poll, poll_with, wait, wait_timeout, wait_sources,
        wait_with, now
    }

    fn supports_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.asked.get().is_multiple_of(3) && self.shm.supports_single_copy(to, len, both_ways)
    }
}

/// Both ranks send long messages at once, of which early data and frames may have been copied before the rest is read in
/// place. What cannot be read is copied from there on, and nothing twice.
#[test]
fn both_send_at_once() {
    type Early =
        Composition<U64, EarlyData<4096>, Linear, HeapStorage, Capacities<4096, 1024, 4096, 8>>;
    const ROUNDS: usize = 8;
    const WINDOW: usize = 8;
    processes::run(path!(both_send_at_once), 2, |mut shm| {
        // Of all messages: otherwise it depends on how far the processors are from each other.
        shm.set_single_copy(SingleCopy::AtLeast(1));
        let asked = 0.into();
        let channel = SometimesOffers { shm, asked };
        let mut comm =
            Communicator::<Numbered, SometimesOffers, Still, Early>::new(channel).expect("it fits");
        let (me, other) = (comm.me(), Peer(1 - comm.me().0));
        let len = |number: usize| 600_000 + number * 4099;
        let (mut copied, mut in_part) = (0, 0);
        for round in 0..ROUNDS {
            let numbers = (0..WINDOW).map(|at| round * WINDOW + at);
            let mut receives = Vec::new();
            let mut sends = Vec::new();
            for number in numbers.clone() {
                let room = Room::new(len(number), 0, number % 2 == 0);
                let posted = comm.irecv(select(Some(other.0), Some(5)), room);
                receives.push((number, posted.map_err(|_| "refused").expect("a receive")));
            }
            for number in numbers {
                let mut text = text(number, len(number), 0);
                // After half of the rounds one side's memory cannot be read.
                text.lies = (me == Peer(0) && number == ROUNDS * WINDOW / 2 + 5).then_some(1);
                let sent = comm.isend(other, header(number), text);
                sends.push((number, sent.map_err(|_| "refused").expect("a send")));
            }
            for (number, ticket) in receives {
                let done = comm.wait(ticket).expect("it ends");
                let Loan::Received(room) = done.loan else {
                    panic!("it was lent for a receive")
                };
                assert_eq!(done.outcome, Ok(len(number)));
                assert!(room.bytes() == message(number, len(number)), "{number}");
            }
            for (number, ticket) in sends {
                let done = comm.wait(ticket).expect("it ends");
                let Loan::Sent(text) = done.loan else {
                    panic!("it was lent for a send")
                };
                assert_eq!(done.outcome, Ok(len(number)));
                // Early data may be in vain.
                let once = len(number)..=len(number) + 2 * FRAME_LIMIT;
                assert!(text.copied.get() <= *once.end(), "copied twice");
                assert!(text.lies.is_none() || once.contains(&text.copied.get()));
                copied += text.copied.get();
                in_part += usize::from((1..len(number)).contains(&text.copied.get()));
            }
        }
        assert!(in_part > 0, "no message was copied in part");
        let all = (0..ROUNDS * WINDOW).map(len).sum::<usize>();
        assert!(copied < all, "nothing was read in place");
        assert_eq!(comm.rejected(), 0);
        let end = header(ROUNDS * WINDOW);
        assert_eq!(comm.send(other, end, b""), Ok(()));
        assert!(comm.recv(select(Some(other.0), Some(5)), &mut []).is_ok());
    });
}

/// The same where the channel has several ports: what the receiver refuses comes back to the port that has sent it.
#[test]
fn memory_of_a_port_that_cannot_be_read() {
    type Ports = (Port<Numbered, Still, Hosted>, Port<Numbered, Still, Hosted>);
    processes::run(path!(memory_of_a_port_that_cannot_be_read), 2, |mut shm| {
        shm.set_single_copy(SingleCopy::AtLeast(0));
        let mut endpoint = Endpoint::<Shm, Ports>::two(shm).expect("it fits");
        let me = endpoint.me();
        let mut port = endpoint.port::<1>();
        for number in 0..10 {
            let len = 300_000 + number;
            if me == Peer(1) {
                receive(&mut port, number, len, Room::new(len, 0, number % 2 == 0));
                continue;
            }
            let mut text = text(number, len, 0);
            text.lies = (number == 3).then_some(1);
            let copied = send(&mut port, number, text);
            assert_eq!(copied, if number < 3 { 0 } else { len });
        }
        let (other, end) = (Peer(1 - me.0), header(99));
        assert_eq!(port.send(other, end, b""), Ok(()));
        assert!(port.recv(select(Some(other.0), Some(5)), &mut []).is_ok());
    });
}
