//! A rank that sleeps for two events: either wakes it from a sleep that would not end by itself.

use core::time::Duration;

use crate::shm::event_count::*;
use crate::shm::futex::Futex;
use crate::shm::sync::{AtomicU32, Ordering};
use crate::shm::wake_socket::{PollPark, WakeSocket};
use crate::std::net::UdpSocket;
use crate::std::os::fd::AsRawFd;
use crate::std::sync::Arc;
use crate::std::sync::mpsc::{RecvTimeoutError, channel};
use crate::std::thread;
use pombo_kernel::channel::WaitSet;
use pombo_testing::conformance::HANG;

const ROUNDS: u32 = 300;
/// A sleep far longer than the test may take.
const MAX_SLEEP: Duration = HANG.saturating_mul(100);

struct Scene {
    event_count: EventCount,
    frames: AtomicU32,
    remote: UdpSocket,
}

/// Calls `wake` once in each round of a sleeper, which must see the published value.
fn rounds(wake: fn(&Scene)) {
    let (remote, progress) = (UdpSocket::bind("127.0.0.1:0"), channel());
    let remote = remote.expect("a socket");
    remote.set_nonblocking(true).expect("an own socket");
    let (event_count, frames) = (EventCount(AtomicU32::new(AWAKE)), AtomicU32::new(0));
    let scene = Arc::new(Scene {
        event_count,
        frames,
        remote,
    });
    let sleeper = scene.clone();
    thread::spawn(move || {
        let wake_socket = WakeSocket::open().expect("a socket");
        for round in 0..ROUNDS {
            progress.0.send(round).expect("somebody listens");
            while !sleeper.has_pending(round) {
                let park = PollPark {
                    futex: Futex::WAKER,
                    wake_socket: &wake_socket,
                    sources: WaitSet::readable([sleeper.remote.as_raw_fd()]),
                    max_sleep: MAX_SLEEP,
                };
                let has_pending = || sleeper.has_pending(round);
                sleeper
                    .event_count
                    .sleep(WaitFor::Frame, None, None, &park, has_pending);
            }
            // Several polls may have seen the datagram: only now it is read.
            let _ = sleeper.remote.recv(&mut [0; 8]);
        }
    });
    for round in 0..ROUNDS {
        assert_eq!(progress.1.recv_timeout(HANG), Ok(round), "it sleeps");
        // In some rounds the sleeper is awake.
        while round % 3 != 0 && scene.event_count.0.load(Ordering::Relaxed) == AWAKE {
            thread::yield_now();
        }
        wake(&scene);
    }
    // The sleeper ends when it has seen the last round.
    assert_eq!(
        progress.1.recv_timeout(HANG),
        Err(RecvTimeoutError::Disconnected)
    );
}

impl Scene {
    fn has_pending(&self, round: u32) -> bool {
        self.frames.load(Ordering::Acquire) > round || self.remote.peek(&mut [0; 8]).is_ok()
    }
}

#[test]
fn a_peer_wakes_it() {
    rounds(|scene| {
        scene.frames.fetch_add(1, Ordering::Release);
        scene.event_count.notify(WaitFor::Frame, &Futex::WAKER);
    });
}

#[test]
fn a_datagram_wakes_it() {
    rounds(|scene| {
        let own = scene.remote.local_addr().expect("it is bound");
        scene.remote.send_to(b"news", own).expect("loopback");
    });
}

#[test]
fn whoever_tells_of_a_loss_wakes_it() {
    rounds(|scene| {
        scene.frames.fetch_add(1, Ordering::Release);
        scene.event_count.notify_always(&Futex::WAKER);
    });
}
