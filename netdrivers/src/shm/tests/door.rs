//! A rank that sleeps for two things: either wakes it, from a sleep that would not end by itself.

use core::time::Duration;

use crate::shm::bell::*;
use crate::shm::door::{Beside, Door};
use crate::shm::futex::Futex;
use crate::shm::sync::{AtomicU32, Ordering};
use crate::std::net::UdpSocket;
use crate::std::os::fd::AsRawFd;
use crate::std::sync::Arc;
use crate::std::sync::mpsc::{RecvTimeoutError, channel};
use crate::std::thread;
use pombo_kernel::channel::Wake;
use pombo_testing::conformance::HANG;

const ROUNDS: u32 = 300;
/// Far longer than the test may take.
const LONGEST: Duration = HANG.saturating_mul(100);

struct Scene {
    bell: Bell,
    frames: AtomicU32,
    far: UdpSocket,
}

/// Calls `wake` once for each round of a sleeper, which is to see what it published.
fn rounds(wake: fn(&Scene)) {
    let (far, told) = (UdpSocket::bind("127.0.0.1:0"), channel());
    let far = far.expect("a socket");
    far.set_nonblocking(true).expect("an own socket");
    let (bell, frames) = (Bell(AtomicU32::new(AWAKE)), AtomicU32::new(0));
    let scene = Arc::new(Scene { bell, frames, far });
    let sleeper = scene.clone();
    thread::spawn(move || {
        let door = Door::open().expect("a door");
        for round in 0..ROUNDS {
            told.0.send(round).expect("somebody listens");
            while !sleeper.has_news(round) {
                let park = Beside {
                    futex: Futex::WAKER,
                    door: &door,
                    other: Wake::by([sleeper.far.as_raw_fd()]),
                    longest: LONGEST,
                };
                let news = || sleeper.has_news(round);
                sleeper.bell.sleep(Until::Frame, None, &park, news);
            }
            // Each of several looks may have found it: only now it is taken.
            let _ = sleeper.far.recv(&mut [0; 8]);
        }
    });
    for round in 0..ROUNDS {
        assert_eq!(told.1.recv_timeout(HANG), Ok(round), "it sleeps");
        // Some rounds find it awake.
        while round % 3 != 0 && scene.bell.0.load(Ordering::Relaxed) == AWAKE {
            thread::yield_now();
        }
        wake(&scene);
    }
    // The sleeper goes when it has seen the last one.
    assert_eq!(
        told.1.recv_timeout(HANG),
        Err(RecvTimeoutError::Disconnected)
    );
}

impl Scene {
    fn has_news(&self, round: u32) -> bool {
        self.frames.load(Ordering::Acquire) > round || self.far.peek(&mut [0; 8]).is_ok()
    }
}

#[test]
fn a_peer_wakes_it() {
    rounds(|scene| {
        scene.frames.fetch_add(1, Ordering::Release);
        scene.bell.ring(Until::Frame, &Futex::WAKER);
    });
}

#[test]
fn a_datagram_wakes_it() {
    rounds(|scene| {
        let own = scene.far.local_addr().expect("it is bound");
        scene.far.send_to(b"news", own).expect("loopback");
    });
}

#[test]
fn whoever_tells_of_a_loss_wakes_it() {
    rounds(|scene| {
        scene.frames.fetch_add(1, Ordering::Release);
        scene.bell.ring_surely(&Futex::WAKER);
    });
}
