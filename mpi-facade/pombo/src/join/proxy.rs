//! The launcher's side of a process on another machine: a thread that has the process's place in the job's memory, and passes
//! on what comes for it and from it. To all others of the job it is that process; `mirror` is its other half.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | bytes to the other machine that the system does not take | 256 KiB and a poll | the senders' rings fill |
//! | frames to the program that it does not take | 256 KiB and a poll | the senders' rings fill |
//! | frames to each process of the job that does not take them | 64 KiB and a poll | the mirror leaves them in its ring |
//!
//! A frame counts 64 bytes more than it has.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use pombo_kernel::Peer;
use pombo_kernel::channel::{Arrival, Channel, Event, WaitSet};
use pombo_netdrivers::shm::{FRAME_LIMIT, FRAMES_PER_PEER, RankState, Segment, Shm};

use super::frame_queue::FrameQueue;
use super::handshake::{self, Joiner};
use super::job_file::JobFile;
use super::place::Place;
use super::wire::{End, Kind, PROGRAM_WINDOW, Record, WINDOW, Wire, cost};
use crate::console::warn;

/// The most that the frames cost which one poll takes from a peer.
const POLL: usize = FRAMES_PER_PEER * cost(FRAME_LIMIT);
/// The longest time until a process of the job that has attached is noticed: nothing wakes for that.
const LOOK: Duration = Duration::from_millis(20);
/// The same while frames wait for a process of the job and only the connections wake: for room nothing wakes then.
const SHORT_LOOK: Duration = Duration::from_millis(1);

/// Serves a connection from another machine to its end. `proves` is held until it has proved that it knows the key.
pub(super) fn run(stream: TcpStream, file: &JobFile, proves: Arc<TcpStream>) {
    let from = stream.peer_addr();
    let served = handshake::accept(stream, file).and_then(|joiner| {
        drop(proves);
        joiner.map_or(Ok(()), |joiner| serve(joiner, file))
    });
    if let Err(error) = served
        && let (Ok(from), ErrorKind::Other | ErrorKind::InvalidData) = (from, error.kind())
    {
        warn(&format!(
            "the process that joined from {}: {error}",
            from.ip()
        ));
    }
}

fn serve(joiner: Joiner<'_>, file: &JobFile) -> io::Result<()> {
    let place = match Place::ask_here(file) {
        Ok(place) => place,
        Err(why) => return joiner.answer(why.word()).map(drop),
    };
    place.connection().set_nonblocking(true)?;
    let segment = Segment::open(place.memory().as_raw_fd()).map_err(io::Error::other)?;
    let fingerprint = segment.fingerprint();
    let wire = joiner.answer(&format!("{} {fingerprint}", place.numbers()))?;
    let others = (0..segment.ranks()).map(|_| Other::default()).collect();
    let mut proxy = Proxy {
        others,
        segment,
        shm: None,
        wire,
        under_way: 0,
        end: None,
        is_taken: false,
        is_heard: true,
        place,
    };
    let mut idle = 0;
    loop {
        match proxy.turn()? {
            Turn::Over => return Ok(()),
            Turn::Busy => idle = 0,
            Turn::Idle => idle = proxy.wait(idle)?,
        }
    }
}

struct Proxy {
    others: Vec<Other>,
    segment: Segment,
    /// The place in the job's memory, from when the program has attached.
    shm: Option<Shm>,
    wire: Wire,
    /// What the frames to the program cost that it has not taken.
    under_way: usize,
    /// How the program has ended, if it has.
    end: Option<End>,
    is_taken: bool,
    /// Whether the mirror has not ended the connection.
    is_heard: bool,
    place: Place,
}

/// A process of the job.
#[derive(Default)]
struct Other {
    /// Whether the mirror knows that it has attached.
    is_told: bool,
    /// Frames to it for which it has had no room yet.
    frames: FrameQueue,
    /// What these frames cost.
    kept: usize,
}

impl Other {
    /// Tells the mirror that the process has attached, unless it knows.
    fn tell(&mut self, place: usize, fingerprint: u64, wire: &mut Wire) {
        if !self.is_told {
            self.is_told = true;
            wire.say(Kind::Started, place, fingerprint);
        }
    }
}

enum Turn {
    Busy,
    Idle,
    Over,
}

impl Proxy {
    fn turn(&mut self) -> io::Result<Turn> {
        let is_job_over = matches!((&mut self.place.connection()).read(&mut [0]), Ok(0));
        self.is_heard = self.is_heard && self.wire.receive()?;
        let mut any = false;
        while let Some(record) = self.wire.next()? {
            any = true;
            self.take(record)?;
        }
        any |= self.pass_on()?;
        // The mirror begins: until then it reads no records.
        if self.is_taken {
            self.tell_started();
        }
        any |= self.poll()?;
        if let Some(end) = self.end
            && self.others.iter().all(|other| other.frames.is_empty())
            && let Some(mut shm) = self.shm.take()
            && end.has_left
        {
            shm.finish();
        }
        any |= self.wire.flush()?;
        let is_served = self.end.is_none() || self.shm.is_none();
        Ok(match is_job_over || !self.is_heard && is_served {
            true => Turn::Over,
            false if any => Turn::Busy,
            false => Turn::Idle,
        })
    }

    /// Handles what the mirror says.
    fn take(&mut self, record: Record) -> io::Result<()> {
        if !self.is_taken {
            self.place.take()?;
            self.is_taken = true;
        }
        match record.kind {
            Kind::Attached if self.shm.is_none() && self.end.is_none() => {
                let segment = Segment::open(self.segment.fd());
                let shm = segment
                    .and_then(|segment| Shm::attach(segment, self.place.number(), record.number));
                self.shm = Some(shm.map_err(io::Error::other)?);
            }
            Kind::Frame => {
                let other = self.others.get_mut(record.place);
                let other = other.ok_or(ErrorKind::InvalidData)?;
                other.kept += cost(record.frame.len());
                if other.kept > WINDOW + POLL {
                    return Err(ErrorKind::InvalidData.into());
                }
                other.frames.push(record.frame);
            }
            Kind::Passed => {
                self.under_way = self.under_way.saturating_sub(record.number as usize);
            }
            Kind::Left => self.end = Some(End::of(record.number)),
            // The mirror can use the place.
            _ => {}
        }
        Ok(())
    }

    /// Passes frames on to the processes of the job, and tells the mirror.
    fn pass_on(&mut self) -> io::Result<bool> {
        let Some(shm) = &mut self.shm else {
            return Ok(false);
        };
        let mut any = false;
        for (place, other) in self.others.iter_mut().enumerate() {
            let passed = other.frames.send(shm, Peer(place as u16))?;
            if passed > 0 {
                other.kept -= passed;
                self.wire.say(Kind::Passed, place, passed as u64);
                any = true;
            }
        }
        Ok(any)
    }

    /// Tells the mirror of the processes that have attached.
    fn tell_started(&mut self) {
        for (place, other) in self.others.iter_mut().enumerate() {
            let state = self.segment.state(place);
            let is_there = matches!(state, Ok(RankState::Attached | RankState::Finished));
            if is_there && place != self.place.number() {
                other.tell(place, self.segment.fingerprint(), &mut self.wire);
            }
        }
    }

    /// Returns whether more frames may be taken for the program.
    fn may_poll(&self) -> bool {
        self.wire.has_room() && self.under_way < PROGRAM_WINDOW
    }

    /// Sends what has come for the program.
    fn poll(&mut self) -> io::Result<bool> {
        let may_poll = self.may_poll();
        let Proxy {
            others,
            segment,
            shm,
            wire,
            under_way,
            ..
        } = self;
        let Some(shm) = shm.as_mut().filter(|_| may_poll) else {
            return Ok(false);
        };
        let polled = shm.poll(|event| match event {
            Event::Arrival(frame) if !frame.refuse() => {
                let place = frame.from().index();
                // It may have attached just now, and the mirror drops what comes from a place where nobody is.
                if let Some(other) = others.get_mut(place) {
                    other.tell(place, segment.fingerprint(), wire);
                }
                *under_way += wire.add_frame(place, &frame);
            }
            Event::PeerLost(peer) => {
                let place = peer.index();
                let end = End {
                    has_left: segment.state(place) == Ok(RankState::Finished),
                    because_of: segment.root_cause(place),
                };
                wire.say(Kind::Lost, place, end.number());
            }
            _ => {}
        });
        polled.map_err(io::Error::other)
    }

    /// Waits until something may have come. Returns the number of idle turns.
    fn wait(&mut self, idle: u32) -> io::Result<u32> {
        let may_poll = self.may_poll();
        let sockets = [self.place.as_fd(), self.wire.as_fd()];
        let heard = if self.is_heard { 2 } else { 1 };
        let is_full = self.wire.is_waiting();
        // What is in the ring ends this sleep, so it is none for as long as that has to stay there.
        if let Some(shm) = self.shm.as_mut().filter(|_| may_poll) {
            let [job, wire] = sockets.map(|socket| socket.as_raw_fd());
            let heard = if self.is_heard { wire } else { -1 };
            let events = WaitSet::readable([job, heard]).writable(is_full, [wire]);
            let events = events.at_most(LOOK.as_nanos() as u64);
            shm.wait_with(idle, events).map_err(io::Error::other)?;
            return Ok(idle.saturating_add(1));
        }
        let mut all = sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN));
        if is_full {
            all[1].set_events(PollFlags::POLLIN | PollFlags::POLLOUT);
        }
        let look = match self.others.iter().all(|other| other.frames.is_empty()) {
            true => LOOK,
            false => SHORT_LOOK,
        };
        let limit = PollTimeout::try_from(look).unwrap_or(PollTimeout::ZERO);
        match poll(&mut all[..heard], limit) {
            Ok(_) | Err(Errno::EINTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
