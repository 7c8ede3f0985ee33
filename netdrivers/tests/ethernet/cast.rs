//! One source and its receivers, each a thread: for tests, and for the bench.

use pombo_kernel::Node;
use pombo_kernel::channel::group::{Group, Habits, Name, Sink, Source};
use pombo_kernel::channel::reliable::Timing;
use pombo_kernel::network::{Broadcast, Network};
use pombo_netdrivers::Growing;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const NAME: Name = Name {
    group: 3,
    epoch: 0x5eed,
};
/// One path: frames do not overtake each other.
const TIMING: Timing = Timing {
    report_after: 200_000,
    least: 2_000_000,
    most: 200_000_000,
    first: 10_000_000,
    overtakers: 1,
};
type Sizes = Group<8, 1500>;
/// Far above the seconds that a slow machine needs.
const HANG: Duration = Duration::from_secs(180);

/// How long each message took to be everywhere, and known to be; and the bytes of a packet.
pub(crate) struct Times {
    pub(crate) each: Vec<Duration>,
    pub(crate) chunk: usize,
    pub(crate) counts: String,
}

/// Node 0 sends messages of these sizes to all others; all must have the same bytes.
pub(crate) fn broadcast<N: Broadcast + Send>(nodes: Vec<N>, sizes: Vec<usize>) -> Times {
    let ranks = nodes.len();
    let mut nodes = nodes.into_iter();
    let network = nodes.next().expect("a source");
    let messages = sizes
        .iter()
        .enumerate()
        .map(|(number, len)| message(number, *len));
    let messages: Arc<[Vec<u8>]> = messages.collect();
    let (done, ends) = mpsc::channel();
    let mut stops = Vec::new();
    for network in nodes {
        let (stop, stopped) = mpsc::channel::<()>();
        let (done, messages) = (done.clone(), messages.clone());
        stops.push(stop);
        std::thread::spawn(move || {
            receive(network, &messages, &stopped);
            let _ = done.send(None);
        });
    }
    std::thread::spawn(move || {
        let times = send(network, ranks, &messages);
        // The receivers answer until the last one has everything.
        drop(stops);
        let _ = done.send(Some(times));
    });
    let ended = || ends.recv_timeout(HANG).expect("a node failed or hangs");
    let all: Vec<Option<Times>> = (0..ranks).map(|_| ended()).collect();
    all.into_iter().flatten().next().expect("the source's")
}

fn message(number: usize, len: usize) -> Vec<u8> {
    let mut seed = number as u64;
    let words = (0..len.div_ceil(8)).flat_map(|_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed ^ seed >> 31).to_le_bytes()
    });
    words.take(len).collect()
}

fn send<N: Broadcast>(mut network: N, ranks: usize, messages: &[Vec<u8>]) -> Times {
    let nodes = (1..ranks as u16).map(Node);
    let mtu = network.mtu();
    let source = Source::<Sizes, Growing>::new(NAME, nodes, mtu, Habits::default(), TIMING);
    let mut source = source.expect("places for eight");
    let mut each = Vec::new();
    for message in messages {
        let start = Instant::now();
        source.send(&&message[..]).expect("the last is done");
        while !source.turn(&mut network, &&message[..]).expect("it is up") || !source.is_done() {
            let now = network.now();
            let heard = network.poll(|frame| source.hear(&frame, now, false));
            if !heard.expect("it is up") {
                std::thread::yield_now();
            }
        }
        each.push(start.elapsed());
    }
    Times {
        each,
        chunk: source.chunk(),
        counts: format!("{:?}", source.counts()),
    }
}

fn receive<N: Network>(mut network: N, messages: &[Vec<u8>], stopped: &mpsc::Receiver<()>) {
    let mut sink = Sink::<Sizes, Growing>::new(NAME, Node(0), TIMING, None);
    // The source should not wait for somebody who compares.
    let room = messages.iter().map(|message| vec![1; message.len()]);
    let mut buffers: Vec<Vec<u8>> = room.collect();
    for buffer in &mut buffers {
        let received = loop {
            if let Some(received) = sink.receive(&mut buffer[..]).expect("it fits") {
                break received;
            }
            turn(&mut network, &mut sink, buffer);
        };
        assert_eq!(received, buffer.len());
    }
    assert!(buffers == messages, "other bytes than were sent");
    while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
        turn(&mut network, &mut sink, &mut []);
    }
}

/// Many nodes share the processors of one machine here: who has nothing to do lets others work.
fn turn<N: Network>(network: &mut N, sink: &mut Sink<Sizes, Growing>, buffer: &mut [u8]) {
    let now = network.now();
    let heard = network.poll(|frame| sink.hear(&frame, buffer, now, false));
    let heard = heard.expect("it is up");
    let told = sink.turn(network).expect("it is up");
    if !heard && !told {
        std::thread::yield_now();
    }
}
