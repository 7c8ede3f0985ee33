//! The job's side of a process on another machine: it has the process's place in the job, and passes on what comes for it
//! and from it. To all others of the job it is that process; `mirror` is its other half.
//!
//! The place is one in the memory of a job on the launcher's machine (`shm_side`), for which a thread of the launcher runs a
//! proxy, or one of a job on several hosts (`hosts_side`), which has a process of its own.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | bytes to the other machine that it has not read | 384 KiB and a poll | the senders' rings fill |
//! | frames to the program that it does not take | 256 KiB and a poll | the senders' rings fill |
//! | frames to each process of the job that does not take them | 64 KiB and a poll | the mirror leaves them in its ring |
//!
//! A frame counts 64 bytes more than it has.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use pombo_netdrivers::shm::{FRAME_LIMIT, FRAMES_PER_PEER};

use super::frame_queue::FrameQueue;
use super::handshake::{self, Joiner};
use super::job_file::JobFile;
use super::job_side::{JobSide, Said, Waits};
use super::place::Place;
use super::shm_side::ShmSide;
use super::wire::{End, Kind, PROGRAM_WINDOW, Record, WINDOW, Wire, cost};
use crate::console::warn;

/// The most that the frames cost which one poll takes from a peer.
const POLL: usize = FRAMES_PER_PEER * cost(FRAME_LIMIT);

/// Serves a connection from another machine to its end. `proves` is held until it has proved that it knows the key.
pub(super) fn run(stream: TcpStream, file: &JobFile, proves: Arc<TcpStream>) {
    let from = stream.peer_addr();
    let served = handshake::accept(stream, file).and_then(|joiner| {
        drop(proves);
        joiner.map_or(Ok(()), |joiner| serve_here(joiner, file))
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

/// Gives it a place in the memory of the job on this machine.
fn serve_here(joiner: Joiner, file: &JobFile) -> io::Result<()> {
    let place = match Place::ask_here(file) {
        Ok(place) => place,
        Err(why) => return joiner.answer(why.word()).map(drop),
    };
    let mut side = ShmSide::new(place)?;
    let (number, [places, spare]) = (side.place().number(), side.place().sizes());
    let answer = answer([number, places, spare], side.fingerprint(), FRAME_LIMIT);
    let wire = joiner.answer(&answer)?;
    serve(&mut side, [number, places], wire).map(drop)
}

/// Returns the line that gives a place: its number, that of all, that of those that were free at first.
pub(super) fn answer(numbers: [usize; 3], fingerprint: u64, limit: usize) -> String {
    let [place, places, spare] = numbers;
    format!("{place} {places} {spare} {fingerprint} {limit}")
}

/// How a connection has ended that has got a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Served {
    /// The place has not been taken: it is free again.
    Unused,
    /// The process has left in good order.
    Left,
    /// The process is not there any more.
    Lost,
}

/// Serves the process that has got that place, of so many, to its end.
pub(super) fn serve(
    side: &mut impl JobSide,
    [place, places]: [usize; 2],
    wire: Wire,
) -> io::Result<Served> {
    let mut proxy = Proxy {
        side,
        place,
        others: (0..places).map(|_| Other::default()).collect(),
        wire,
        under_way: 0,
        end: None,
        is_taken: false,
        is_attached: false,
        is_heard: true,
    };
    let (mut idle, mut over) = (0, None);
    while over.is_none() {
        match proxy.turn() {
            Ok(Turn::Over) => over = Some(Ok(())),
            Ok(Turn::Busy) => idle = 0,
            Ok(Turn::Idle) => idle = proxy.wait(idle)?,
            Err(error) => over = Some(Err(error)),
        }
    }
    match over {
        _ if !proxy.is_taken => Ok(Served::Unused),
        // What breaks the connection is the end of the process, whatever it was.
        Some(Err(error)) if matches!(error.kind(), ErrorKind::Other | ErrorKind::InvalidData) => {
            Err(error)
        }
        _ if proxy.end.is_some_and(|end| end.has_left) && !proxy.is_attached => Ok(Served::Left),
        _ => Ok(Served::Lost),
    }
}

struct Proxy<'a, S> {
    side: &'a mut S,
    place: usize,
    others: Vec<Other>,
    wire: Wire,
    /// What the frames to the program cost that it has not taken.
    under_way: usize,
    /// How the program has ended, if it has.
    end: Option<End>,
    is_taken: bool,
    /// Whether the program has attached, and the job has not been told of its end.
    is_attached: bool,
    /// Whether the mirror has not ended the connection.
    is_heard: bool,
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

impl<S: JobSide> Proxy<'_, S> {
    fn turn(&mut self) -> io::Result<Turn> {
        let is_job_over = self.side.turn()?;
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
            && self.is_attached
            && !self.has_frames()
        {
            self.is_attached = !self.side.leave(end.has_left);
        }
        any |= self.wire.flush()?;
        let is_served = self.end.is_none() || !self.is_attached;
        Ok(match is_job_over || !self.is_heard && is_served {
            true => Turn::Over,
            false if any => Turn::Busy,
            false => Turn::Idle,
        })
    }

    /// Handles what the mirror says.
    fn take(&mut self, record: Record) -> io::Result<()> {
        if !self.is_taken {
            self.side.take()?;
            self.is_taken = true;
        }
        match record.kind {
            Kind::Attached if !self.is_attached && self.end.is_none() => {
                self.side.attach(record.number)?;
                self.is_attached = true;
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
        if !self.is_attached {
            return Ok(false);
        }
        let mut any = false;
        for (place, other) in self.others.iter_mut().enumerate() {
            if other.frames.is_empty() {
                continue;
            }
            let passed = self.side.send(place, &mut other.frames)?;
            if passed > 0 {
                other.kept -= passed;
                self.wire.say(Kind::Passed, place, passed as u64);
                any = true;
            }
        }
        Ok(any)
    }

    fn has_frames(&self) -> bool {
        self.others.iter().any(|other| !other.frames.is_empty())
    }

    /// Tells the mirror of the processes that have attached.
    fn tell_started(&mut self) {
        for (place, other) in self.others.iter_mut().enumerate() {
            if place != self.place && self.side.has_started(place) {
                other.tell(place, self.side.fingerprint(), &mut self.wire);
            }
        }
    }

    /// Returns whether more frames may be taken for the program.
    fn may_poll(&self) -> bool {
        self.is_attached && self.wire.has_room() && self.under_way < PROGRAM_WINDOW
    }

    /// Sends what has come for the program.
    fn poll(&mut self) -> io::Result<bool> {
        if !self.may_poll() {
            return Ok(false);
        }
        let Proxy {
            side,
            others,
            wire,
            under_way,
            ..
        } = self;
        let fingerprint = side.fingerprint();
        side.poll(&mut |place, said| match said {
            Said::Frame(bytes) => {
                // It may have attached just now, and the mirror drops what comes from a place where nobody is.
                if let Some(other) = others.get_mut(place) {
                    other.tell(place, fingerprint, wire);
                }
                *under_way += wire.add_frame(place, bytes);
            }
            Said::Lost(end) => wire.say(Kind::Lost, place, end.number()),
        })
    }

    /// Waits until something may have come. Returns the number of idle turns.
    fn wait(&mut self, idle: u32) -> io::Result<u32> {
        let wire = self.wire.as_fd().as_raw_fd();
        let waits = Waits {
            heard: if self.is_heard { wire } else { -1 },
            full: if self.wire.is_full() { wire } else { -1 },
            may_poll: self.may_poll(),
            has_frames: self.has_frames(),
        };
        self.side.wait(idle, &waits)
    }
}
