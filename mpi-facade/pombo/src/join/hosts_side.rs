//! A place of a job on several hosts, which a process of its own keeps: to the others it is a rank. `keeper` has it, before
//! and after a process has come.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | frames for the place that nobody has taken | 64 KiB times the number of processes, and a poll | those who send wait |

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use pombo_job::KeptPlace;
use pombo_job::settings::spare_places;
use pombo_kernel::Peer;
use pombo_kernel::channel::{Arrival, Channel, Event};
use pombo_netdrivers::shm::{FRAME_LIMIT, FRAMES_PER_PEER};
use pombo_netdrivers::wait_fds;

use super::far_listener::{FarListener, Serve};
use super::frame_queue::FrameQueue;
use super::handshake::Joiner;
use super::job_side::{JobSide, Said, Waits};
use super::refusal;
use super::wire::{End, WINDOW, cost};
use crate::ports::MOST_PLACES;

/// The longest time between two looks at who has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Number of idle turns from which on a channel sleeps at once.
const IDLE: u32 = 1 << 20;

pub(super) struct HostsSide {
    /// `None` once it has been left.
    kept: Option<KeptPlace<MOST_PLACES>>,
    place: usize,
    places: usize,
    fingerprint: u64,
    limit: usize,
    /// To the launcher, which lives as long as this is open.
    launcher: TcpStream,
    listener: FarListener,
    serve: Serve,
    /// Those who have proved that they know the key.
    joiners: Receiver<Joiner>,
    /// What has come and has not been passed on, and what the frames of it cost.
    early: VecDeque<(usize, Early)>,
    cost: usize,
}

/// As [`Said`].
enum Early {
    Frame(Vec<u8>),
    Lost(End),
}

impl HostsSide {
    pub(super) fn new(
        mut kept: KeptPlace<MOST_PLACES>,
        launcher: TcpStream,
        (listener, serve): (FarListener, Serve),
        joiners: Receiver<Joiner>,
    ) -> HostsSide {
        let fingerprint = kept.fingerprint();
        let channel = kept.channel();
        let (me, places) = (channel.me().index(), channel.peers());
        let others = (0..places).filter(|place| *place != me);
        let limits = others.map(|place| channel.limit(Peer(place as u16)));
        HostsSide {
            place: me,
            places,
            fingerprint,
            limit: limits.fold(FRAME_LIMIT, usize::min),
            kept: Some(kept),
            launcher,
            listener,
            serve,
            joiners,
            early: VecDeque::new(),
            cost: 0,
        }
    }

    /// Returns the number of this place, of all, and of those that were free at first.
    pub(super) fn numbers(&self) -> [usize; 3] {
        [self.place, self.places, spare_places()]
    }

    /// Returns the longest frame that reaches every process.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the next process that wants the place.
    pub(super) fn next_joiner(&mut self) -> Option<Joiner> {
        self.listener.accept(&self.serve);
        self.joiners.try_recv().ok()
    }

    /// Returns whether the processes with which the job began have ended.
    pub(super) fn is_deserted(&mut self) -> bool {
        let first = self.places.saturating_sub(spare_places());
        self.kept
            .as_ref()
            .is_none_or(|kept| (0..first).all(|rank| kept.has_ended(Peer(rank as u16))))
    }

    /// Returns whether the launcher has ended.
    pub(super) fn has_lost_launcher(&self) -> bool {
        match (&self.launcher).read(&mut [0]) {
            Ok(len) => len == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    fn bound(&self) -> usize {
        WINDOW * self.places
    }

    /// Takes from the channel, as long as there is room.
    pub(super) fn progress(&mut self) -> io::Result<()> {
        let bound = self.bound();
        let HostsSide {
            kept,
            early,
            cost: used,
            ..
        } = self;
        let Some(kept) = kept else { return Ok(()) };
        // This looks for those who have ended, too.
        let _ = kept.is_settled();
        let mut lost = Vec::new();
        if *used < bound {
            let polled = kept.channel().poll(|event| match event {
                Event::Arrival(frame) => {
                    let mut bytes = Vec::with_capacity(frame.len());
                    frame.for_each_chunk(0, frame.len(), |piece| bytes.extend(piece));
                    *used += cost(bytes.len());
                    early.push_back((frame.from().index(), Early::Frame(bytes)));
                }
                Event::PeerLost(peer) => lost.push(peer),
                _ => {}
            });
            polled.map_err(io::Error::other)?;
        }
        for peer in lost {
            let root_cause = kept.deaths().root_cause_of(peer);
            let end = End {
                has_left: kept.deaths().has_finished(peer),
                because_of: root_cause.map(|peer| peer.0),
            };
            early.push_back((peer.index(), Early::Lost(end)));
        }
        Ok(())
    }

    /// Waits while no process has the place.
    pub(super) fn wait_alone(&mut self) -> io::Result<()> {
        self.wait_for(&Waits {
            heard: -1,
            full: -1,
            may_poll: true,
            has_frames: false,
        })
    }

    /// Waits for one of these descriptors, and for the job as long as what comes from it can be taken.
    fn wait_for(&mut self, waits: &Waits) -> io::Result<()> {
        let own: [RawFd; 2] = [self.launcher.as_raw_fd(), self.listener.as_fd().as_raw_fd()];
        let set = waits.with(own).at_most(LOOK.as_nanos() as u64);
        let has_room = self.cost < self.bound();
        match &mut self.kept {
            Some(kept) if has_room => {
                let channel = kept.channel();
                channel.wait_with(IDLE, set).map_err(io::Error::other)
            }
            _ => wait_fds(set).map_err(io::Error::from_raw_os_error),
        }
    }
}

impl JobSide for HostsSide {
    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn turn(&mut self) -> io::Result<bool> {
        self.progress()?;
        // Who comes now is too late.
        while let Some(joiner) = self.next_joiner() {
            let _ = joiner.answer(refusal::FULL);
        }
        Ok(self.has_lost_launcher())
    }

    fn take(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn attach(&mut self, fingerprint: u64) -> io::Result<()> {
        // The mirror's memory has refused any other program.
        if fingerprint != self.fingerprint {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if let Some(kept) = &mut self.kept {
            kept.report_taken();
        }
        Ok(())
    }

    fn has_started(&self, place: usize) -> bool {
        let kept = self.kept.as_ref();
        kept.is_some_and(|kept| kept.deaths().has_started(Peer(place as u16)))
    }

    fn send(&mut self, to: usize, frames: &mut FrameQueue) -> io::Result<usize> {
        match &mut self.kept {
            Some(kept) => frames.send(kept.channel(), Peer(to as u16)),
            None => Ok(0),
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(usize, Said<'_>)) -> io::Result<bool> {
        let some = self.early.len().min(FRAMES_PER_PEER);
        for (place, said) in self.early.drain(..some) {
            match said {
                Early::Frame(bytes) => {
                    self.cost -= cost(bytes.len());
                    take(place, Said::Frame(&bytes));
                }
                Early::Lost(end) => take(place, Said::Lost(end)),
            }
        }
        Ok(some > 0)
    }

    fn leave(&mut self, in_good_order: bool) -> bool {
        let is_settled = self.kept.as_mut().is_none_or(KeptPlace::is_settled);
        if in_good_order && !is_settled {
            // Nobody takes these any more, and with room for others the answers to what was sent are read.
            self.early.clear();
            self.cost = 0;
            return false;
        }
        if let Some(kept) = self.kept.take() {
            kept.leave(in_good_order);
        }
        true
    }

    fn wait(&mut self, _: u32, waits: &Waits) -> io::Result<u32> {
        self.wait_for(waits)?;
        Ok(0)
    }
}
