//! One source and its receivers, each a thread: for tests, and for the bench.

use pombo_kernel::Peer;
use pombo_kernel::network::{Broadcast, Network};
use pombo_netdrivers::HeapStorage;
use pombo_transport::multicast::{
    GroupCapacities, GroupId, Receiver, Sender, SenderConfig, WireGroup,
};
use pombo_transport::reliable::Timing;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

pub(crate) const NAME: WireGroup = WireGroup {
    group: GroupId(3),
    epoch: 0x5eed,
};
/// One path: frames do not overtake each other.
pub(crate) const TIMING: Timing = Timing {
    report_after: 200_000,
    least: 2_000_000,
    most: 200_000_000,
    first: 10_000_000,
    overtakers: 1,
};
pub(crate) type Sizes = GroupCapacities<8, 65535>;
/// Far above the seconds that a slow machine needs.
const HANG: Duration = Duration::from_secs(180);

/// How a peer waits: all of them share the processors of one machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looks {
    /// It sleeps.
    None,
    /// It lets the others work, many times, before it sleeps.
    Many,
}

/// How long each message took.
pub(crate) struct Times {
    /// To be everywhere, and to be known to be.
    pub(crate) there: Vec<Duration>,
    pub(crate) known: Vec<Duration>,
    /// Bytes of a packet.
    pub(crate) chunk: usize,
    pub(crate) counts: String,
}

/// What a peer has noted: when each message began or came; and of the source, when it was known to be everywhere.
enum Noted {
    Sent {
        began: Vec<Instant>,
        ended: Vec<Instant>,
        chunk: usize,
        counts: String,
    },
    Came(Vec<Instant>),
}

/// Peer 0 sends messages of these sizes to all others; all must have the same bytes.
pub(crate) fn broadcast<N: Broadcast + Send>(
    peers: Vec<N>,
    sizes: Vec<usize>,
    looks: Looks,
) -> Times {
    let ranks = peers.len();
    let mut peers = peers.into_iter();
    let network = peers.next().expect("a source");
    let messages = sizes
        .iter()
        .enumerate()
        .map(|(number, len)| message(number, *len));
    let messages: Arc<[Vec<u8>]> = messages.collect();
    let (done, ends) = mpsc::channel();
    let mut stops = Vec::new();
    for network in peers {
        let (stop, stopped) = mpsc::channel::<()>();
        let (done, messages) = (done.clone(), messages.clone());
        stops.push(stop);
        std::thread::spawn(move || {
            let _ = done.send(receive(network, &messages, &stopped, looks));
        });
    }
    std::thread::spawn(move || {
        let sent = send(network, ranks, &messages, looks);
        // The receivers answer until the last one has everything.
        drop(stops);
        let _ = done.send(sent);
    });
    let ended = || ends.recv_timeout(HANG).expect("a peer failed or hangs");
    times((0..ranks).map(|_| ended()))
}

fn times(all: impl Iterator<Item = Noted>) -> Times {
    let (mut came, mut sent) = (Vec::new(), None);
    for noted in all {
        match noted {
            Noted::Came(times) => came.push(times),
            Noted::Sent { .. } => sent = Some(noted),
        }
    }
    let Some(Noted::Sent {
        began,
        ended,
        chunk,
        counts,
    }) = sent
    else {
        panic!("no source");
    };
    let last = |message: usize| came.iter().map(|times| times[message]).max();
    let there = |message| last(message).expect("a receiver") - began[message];
    Times {
        there: (0..began.len()).map(there).collect(),
        known: ended.iter().zip(&began).map(|(e, b)| *e - *b).collect(),
        chunk,
        counts,
    }
}

pub(crate) fn message(number: usize, len: usize) -> Vec<u8> {
    let mut seed = number as u64;
    let words = (0..len.div_ceil(8)).flat_map(|_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed ^ seed >> 31).to_le_bytes()
    });
    words.take(len).collect()
}

fn send<N: Broadcast>(mut network: N, ranks: usize, messages: &[Vec<u8>], looks: Looks) -> Noted {
    let peers = (1..ranks as u16).map(Peer);
    let mtu = network.mtu();
    let source =
        Sender::<Sizes, HeapStorage>::new(NAME, peers, mtu, SenderConfig::default(), TIMING);
    let mut source = source.expect("places for eight");
    let (mut began, mut ended, mut idle) = (Vec::new(), Vec::new(), 0);
    for message in messages {
        began.push(Instant::now());
        source.send(&&message[..]).expect("the last is done");
        while !source
            .send_due(&mut network, &&message[..])
            .expect("it is up")
            || !source.is_done()
        {
            let (me, now) = (network.me(), network.now());
            let heard = network.poll(|frame| source.on_frame(&frame, now, Some(me)));
            if heard.expect("it is up") {
                idle = 0;
            } else {
                looks.wait(&mut network, &mut idle, source.deadline());
            }
        }
        ended.push(Instant::now());
    }
    Noted::Sent {
        began,
        ended,
        chunk: source.chunk(),
        counts: format!("{:?}", source.counts()),
    }
}

fn receive<N: Network>(
    mut network: N,
    messages: &[Vec<u8>],
    stopped: &mpsc::Receiver<()>,
    looks: Looks,
) -> Noted {
    let mut sink = Receiver::<Sizes, HeapStorage>::new(NAME, Peer(0), TIMING, None);
    // The source should not wait for somebody who compares.
    let room = messages.iter().map(|message| vec![1; message.len()]);
    let mut buffers: Vec<Vec<u8>> = room.collect();
    let (mut came, mut idle) = (Vec::new(), 0);
    for buffer in &mut buffers {
        let received = loop {
            if let Some(received) = sink.receive(&mut buffer[..]).expect("it fits") {
                break received;
            }
            send_due(&mut network, &mut sink, buffer, looks, &mut idle);
        };
        came.push(Instant::now());
        assert_eq!(received, buffer.len());
    }
    assert!(buffers == messages, "other bytes than were sent");
    while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
        send_due(&mut network, &mut sink, &mut [], looks, &mut idle);
    }
    Noted::Came(came)
}

fn send_due<N: Network>(
    network: &mut N,
    sink: &mut Receiver<Sizes, HeapStorage>,
    buffer: &mut [u8],
    looks: Looks,
    idle: &mut u32,
) {
    let (me, now) = (network.me(), network.now());
    let heard = network.poll(|frame| sink.on_frame(&frame, buffer, now, Some(me)));
    let heard = heard.expect("it is up");
    sink.send_due(network).expect("it is up");
    if heard {
        *idle = 0;
    } else {
        // Nobody wakes it when all is over.
        let soon = now + 50_000_000;
        looks.wait(network, idle, sink.deadline().min(soon));
    }
}

/// Yields before the first sleep, where there are many.
const YIELDS: u32 = 200;

impl Looks {
    fn wait<N: Network>(self, network: &mut N, idle: &mut u32, until: u64) {
        *idle += 1;
        if self == Looks::Many && *idle < YIELDS {
            return std::thread::yield_now();
        }
        // So many times in vain: no more looking.
        network.wait(u32::MAX, until).expect("it is up");
    }
}
