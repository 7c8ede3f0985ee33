//! A place in the memory of a job on the launcher's machine. The proxy of a process on another machine has it.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use pombo_kernel::Peer;
use pombo_kernel::channel::{Arrival, Channel, Event};
use pombo_netdrivers::shm::{RankState, Segment, Shm};
use pombo_netdrivers::wait_fds;

use super::frame_queue::FrameQueue;
use super::job_side::{JobSide, Said, Waits};
use super::place::Place;
use super::wire::End;

/// The longest time until a process of the job that has attached is noticed: nothing wakes for that.
const LOOK: Duration = Duration::from_millis(20);
/// The same while frames wait for a process of the job and only the connections wake: for room nothing wakes then.
const SHORT_LOOK: Duration = Duration::from_millis(1);

pub(super) struct ShmSide {
    place: Place,
    segment: Segment,
    /// The place in the job's memory, from when the program has attached.
    shm: Option<Shm>,
    /// The frame that is being passed on.
    frame: Vec<u8>,
}

impl ShmSide {
    pub(super) fn new(place: Place) -> io::Result<ShmSide> {
        place.connection().set_nonblocking(true)?;
        let segment = Segment::open(place.memory().as_raw_fd()).map_err(io::Error::other)?;
        Ok(ShmSide {
            place,
            segment,
            shm: None,
            frame: Vec::new(),
        })
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }
}

impl JobSide for ShmSide {
    fn fingerprint(&self) -> u64 {
        self.segment.fingerprint()
    }

    fn turn(&mut self) -> io::Result<bool> {
        Ok(matches!(
            (&mut self.place.connection()).read(&mut [0]),
            Ok(0)
        ))
    }

    fn take(&mut self) -> io::Result<()> {
        self.place.take()
    }

    fn attach(&mut self, fingerprint: u64) -> io::Result<()> {
        let segment = Segment::open(self.segment.fd());
        let shm =
            segment.and_then(|segment| Shm::attach(segment, self.place.number(), fingerprint));
        self.shm = Some(shm.map_err(io::Error::other)?);
        Ok(())
    }

    fn has_started(&self, place: usize) -> bool {
        let state = self.segment.state(place);
        matches!(state, Ok(RankState::Attached | RankState::Finished))
    }

    fn send(&mut self, to: usize, frames: &mut FrameQueue) -> io::Result<usize> {
        match &mut self.shm {
            Some(shm) => frames.send(shm, Peer(to as u16)),
            None => Ok(0),
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(usize, Said<'_>)) -> io::Result<bool> {
        let ShmSide {
            segment,
            shm,
            frame: bytes,
            ..
        } = self;
        let Some(shm) = shm else { return Ok(false) };
        let polled = shm.poll(|event| match event {
            Event::Arrival(frame) if !frame.refuse() => {
                bytes.clear();
                frame.for_each_chunk(0, frame.len(), |piece| bytes.extend(piece));
                take(frame.from().index(), Said::Frame(bytes));
            }
            Event::PeerLost(peer) => {
                let place = peer.index();
                let end = End {
                    has_left: segment.state(place) == Ok(RankState::Finished),
                    because_of: segment.root_cause(place),
                };
                take(place, Said::Lost(end));
            }
            _ => {}
        });
        polled.map_err(io::Error::other)
    }

    fn leave(&mut self, in_good_order: bool) -> bool {
        if let Some(mut shm) = self.shm.take()
            && in_good_order
        {
            shm.finish();
        }
        true
    }

    fn wait(&mut self, idle: u32, waits: &Waits) -> io::Result<u32> {
        let set = waits.with([self.place.as_fd().as_raw_fd()]);
        // What is in the ring ends this sleep, so it is none for as long as that has to stay there.
        if let Some(shm) = self.shm.as_mut().filter(|_| waits.may_poll) {
            let set = set.at_most(LOOK.as_nanos() as u64);
            shm.wait_with(idle, set).map_err(io::Error::other)?;
            return Ok(idle.saturating_add(1));
        }
        let look = if waits.has_frames { SHORT_LOOK } else { LOOK };
        let set = set.at_most(look.as_nanos() as u64);
        wait_fds(set).map_err(io::Error::from_raw_os_error)?;
        Ok(0)
    }
}
