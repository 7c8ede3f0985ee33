//! The two ranks of each layer that runs as threads: a cache line, the driver's channel, the kernel's communicator. Only `layers` uses it.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::memory::Part;
use pombo_kernel::{Communicator, Lent, Peer};
use pombo_mpi::message_header::{FINGERPRINT, MpiComposition, MpiHeader, MpiPattern};
use pombo_netdrivers::shm::{FRAME_LIMIT, Segment, Shm};

use super::super::measured_value::Spread;
use super::pair::{Failure, Outcome, Pattern, Rank, measure, pin};

/// Measures the machine itself: a cache line that carries only a number.
pub(super) fn line(pattern: Pattern, size: usize, seconds: f32) -> Result<Option<Spread>, Failure> {
    if pattern != Pattern::PingPong || size > 8 {
        return Ok(None);
    }
    let lines = [CacheLine::default(), CacheLine::default()];
    measure(pattern, 0, seconds, Ends::of(&lines)).map(Some)
}

/// Batches of a short measurement and round trips of each: together some 0.2 ms where cores are near, 1 ms where far.
const SHORT_BATCHES: usize = 20;
const SHORT_REPEATS: u32 = 50;

/// Measures a cache line so briefly that it fits between two turns. Returns nanoseconds from core to core: the lower
/// quartile of the batches, so that disturbances do not count.
pub(super) fn line_now() -> Result<f64, Failure> {
    let lines = [CacheLine::default(), CacheLine::default()];
    let [mut zero, mut one] = Ends::of(&lines);
    thread::scope(|scope| {
        scope.spawn(move || {
            pin(1);
            // The first batch, in which the threads meet, is not timed.
            for _ in 0..(SHORT_BATCHES as u32 + 1) * SHORT_REPEATS {
                one.receive(&mut []).and_then(|()| one.send(&[]))?;
            }
            Outcome::Ok(())
        });
        let asking = scope.spawn(move || {
            pin(0);
            let mut batch = || {
                let began = Instant::now();
                for _ in 0..SHORT_REPEATS {
                    zero.send(&[]).and_then(|()| zero.receive(&mut []))?;
                }
                Ok(began.elapsed().as_secs_f64() * 1e9 / f64::from(2 * SHORT_REPEATS))
            };
            batch()?;
            let times: Result<Vec<f64>, Failure> = (0..SHORT_BATCHES).map(|_| batch()).collect();
            Ok(Spread::among(times?.into_iter()).low)
        });
        asking.join().map_err(|_| "a thread panicked")?
    })
}

pub(super) fn driver(
    pattern: Pattern,
    size: usize,
    seconds: f32,
) -> Result<Option<Spread>, Failure> {
    if size > FRAME_LIMIT {
        return Ok(None);
    }
    let ranks = channels()?.map(|channel| Driver {
        channel,
        arrived: 0,
    });
    measure(pattern, size, seconds, ranks).map(Some)
}

pub(super) fn kernel(
    pattern: Pattern,
    size: usize,
    seconds: f32,
) -> Result<Option<Spread>, Failure> {
    let [zero, one] = channels()?;
    let ranks = [
        Kernel(Communicator::new(zero)?),
        Kernel(Communicator::new(one)?),
    ];
    measure(pattern, size, seconds, ranks).map(Some)
}

pub(super) fn channels() -> Result<[Shm; 2], Failure> {
    let segment = Segment::create(2, FINGERPRINT)?;
    let again = Segment::open(segment.fd())?;
    let zero = Shm::attach(segment, 0, FINGERPRINT)?;
    Ok([zero, Shm::attach(again, 1, FINGERPRINT)?])
}

/// Aligned to two cache lines, because processors prefetch them in pairs.
#[derive(Default)]
#[repr(align(128))]
struct CacheLine(AtomicU32);

struct Ends<'a> {
    mine: &'a CacheLine,
    theirs: &'a CacheLine,
    sent: u32,
    received: u32,
}

/// Number of loads without success after which a rank yields, because the other one seems to have no core of its own.
const LOOKS: u32 = 10_000;

impl<'a> Ends<'a> {
    fn of(lines: &'a [CacheLine; 2]) -> [Ends<'a>; 2] {
        [0, 1].map(|rank| Ends {
            mine: &lines[rank],
            theirs: &lines[1 - rank],
            sent: 0,
            received: 0,
        })
    }
}

impl Rank for Ends<'_> {
    fn send(&mut self, _bytes: &[u8]) -> Outcome {
        self.sent = self.sent.wrapping_add(1);
        self.mine.0.store(self.sent, Ordering::Release);
        Ok(())
    }

    fn receive(&mut self, _places: &mut [Vec<u8>]) -> Outcome {
        self.received = self.received.wrapping_add(1);
        let mut looks = 0;
        while self.theirs.0.load(Ordering::Acquire) != self.received {
            looks += 1;
            if looks % LOOKS == 0 {
                thread::yield_now();
            }
            spin_loop();
        }
        Ok(())
    }
}

/// A rank over the driver. A frame is never empty, so a message without data is one byte.
struct Driver {
    channel: Shm,
    arrived: usize,
}

impl Driver {
    fn other(&self) -> Peer {
        Peer(1 - self.channel.me().0)
    }

    /// Copies what has arrived into the next places.
    fn poll(&mut self, places: &mut [Vec<u8>]) -> Result<bool, Failure> {
        let arrived = &mut self.arrived;
        let mut lost = false;
        let happened = self.channel.poll(|event| match event {
            Event::Arrival(arrival) => {
                let place = places.get_mut(*arrived).map_or(&mut [][..], |place| place);
                *arrived += 1;
                let mut at = 0;
                arrival.for_each_chunk(0, arrival.len().min(place.len()), |piece| {
                    place[at..at + piece.len()].copy_from_slice(piece);
                    at += piece.len();
                });
            }
            Event::PeerLost(_) => lost = true,
            _ => {}
        })?;
        match lost && self.arrived == 0 {
            true => Err("the other rank is gone".into()),
            false => Ok(happened),
        }
    }
}

impl Rank for Driver {
    fn send(&mut self, bytes: &[u8]) -> Outcome {
        let bytes = if bytes.is_empty() { &[0] } else { bytes };
        let to = self.other();
        let mut idle = 0;
        loop {
            match self
                .channel
                .try_send(to, Cookie::COPY, &[Part::Bytes(bytes)])
            {
                Ok(_) => return Ok(()),
                Err(ChannelError::Full) => {}
                Err(error) => return Err(error.into()),
            }
            self.poll(&mut [])?;
            self.channel.wait(idle)?;
            idle += 1;
        }
    }

    fn receive(&mut self, places: &mut [Vec<u8>]) -> Outcome {
        let mut idle = 0;
        while self.arrived < places.len() {
            if !self.poll(places)? {
                self.channel.wait(idle)?;
                idle += 1;
            }
        }
        self.arrived -= places.len();
        Ok(())
    }
}

/// A rank over the kernel, in the composition of the MPI library with Rust's memory.
struct Kernel(Communicator<MpiHeader, Shm, Lent<'static>, MpiComposition>);

impl Kernel {
    fn other(&self) -> Peer {
        Peer(1 - self.0.me().0)
    }
}

impl Rank for Kernel {
    fn send(&mut self, bytes: &[u8]) -> Outcome {
        let to = self.other();
        Ok(self.0.send(to, MpiHeader::new(0, 0), bytes)?)
    }

    fn receive(&mut self, places: &mut [Vec<u8>]) -> Outcome {
        let wanted = MpiPattern::new(0, Some(self.other()), Some(0));
        for place in places {
            self.0.recv(wanted, place)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_carries_messages() {
        for pattern in [Pattern::PingPong, Pattern::Rate, Pattern::Bandwidth] {
            for size in [8, 64, 5000] {
                let driver = driver(pattern, size, 0.001).unwrap();
                assert!(driver.is_some_and(|spread| spread.median > 0.0));
                let kernel = kernel(pattern, size, 0.001).unwrap();
                assert!(kernel.is_some_and(|spread| spread.median > 0.0));
            }
        }
        let line = |size| line(Pattern::PingPong, size, 0.001).unwrap();
        assert!(line(8).is_some_and(|spread| spread.low <= spread.high));
        assert_eq!(line(64), None);
        assert!(line_now().unwrap() > 0.0);
    }
}
