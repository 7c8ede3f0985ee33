//! What a frame costs in the shared memory driver. One thread is both sides of a ring, so caches and the other core
//! count for nothing: these are the instructions. `pombo bench` measures between processes.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::{Part, Source};
use pombo_netdrivers::shm::{FRAME_LIMIT, Segment, Shm};

/// Bytes of a head, as the kernel puts one before the payload.
const HEAD: [u8; 10] = [7; 10];
/// Frames under way together.
const WINDOW: usize = 16;

fn send(shm: &mut Shm, to: Peer, payload: &[u8]) {
    let source: &dyn Source = &payload;
    let held = Part::Held {
        swapped: false,
        source,
        offset: 0,
        len: payload.len(),
    };
    let parts = [Part::Bytes(&HEAD), held];
    shm.try_send(to, Cookie::COPY, &parts).expect("room");
}

/// Copies what has arrived. How many frames.
fn take(shm: &mut Shm, into: &mut [u8]) -> usize {
    let mut frames = 0;
    let polled = shm.poll(|event| {
        let Event::Arrival(arrival) = event else {
            return;
        };
        let mut at = 0;
        arrival.for_each_chunk(HEAD.len(), arrival.len() - HEAD.len(), |piece| {
            into[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
        frames += 1;
    });
    polled.expect("a poll");
    frames
}

fn frames(c: &mut Criterion) {
    let mut shm = Shm::alone().expect("a segment");
    let mut buffer = [0; FRAME_LIMIT];
    let mut group = c.benchmark_group("one frame there and out");
    for size in [0, 8, 64, 1024, 8192, FRAME_LIMIT - HEAD.len()] {
        let payload = vec![1; size];
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("{size} B"), |b| {
            b.iter(|| {
                send(&mut shm, Peer(0), black_box(&payload));
                take(&mut shm, black_box(&mut buffer))
            });
        });
    }
    group.finish();
}

fn windows(c: &mut Criterion) {
    let mut shm = Shm::alone().expect("a segment");
    let mut buffer = [0; 8];
    let mut group = c.benchmark_group("a window of frames");
    group.throughput(Throughput::Elements(WINDOW as u64));
    group.bench_function("8 B", |b| {
        b.iter(|| {
            (0..WINDOW).for_each(|_| send(&mut shm, Peer(0), black_box(&[1; 8])));
            let mut taken = 0;
            while taken < WINDOW {
                taken += take(&mut shm, black_box(&mut buffer));
            }
        });
    });
    group.finish();
}

/// Looking in vain, after so many peers have sent something.
fn idle(c: &mut Criterion) {
    let mut group = c.benchmark_group("a poll in vain");
    for peers in [1, 8, 64] {
        let segment = Segment::create(peers, 0).expect("a segment");
        let attach = |rank| {
            let segment = Segment::open(segment.fd()).expect("the same segment");
            Shm::attach(segment, rank, 0).expect("a free rank")
        };
        let mut ranks: Vec<Shm> = (0..peers).map(attach).collect();
        ranks
            .iter_mut()
            .for_each(|rank| send(rank, Peer(0), b"hello"));
        let mut heard = 0;
        while heard < peers {
            heard += take(&mut ranks[0], &mut [0; 5]);
        }
        group.bench_function(format!("{peers} peers"), |b| {
            b.iter(|| take(&mut ranks[0], &mut []));
        });
    }
    group.finish();
}

criterion_group!(benches, frames, windows, idle);
criterion_main!(benches);
