//! The side of `pombo join` on another machine than the launcher's: a memory like the job's, in which a thread has the places
//! of all others and passes on what the program sends to them and what they send to it. `proxy` is its other half.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | places of the job | [`MOST_PLACES`] | [`Refusal::TooManyPlaces`] |
//! | frames to each other process that have not been passed on | 64 KiB and a poll | they stay in the program's ring |
//! | frames to the program that it does not take | 256 KiB and a poll | the launcher's side leaves them where they are |
//!
//! A frame counts 64 bytes more than it has. The mirror always reads its connection: only so does it see the end.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use pombo_kernel::Peer;
use pombo_kernel::channel::{Arrival, Channel, Event, WaitSet};
use pombo_netdrivers::shm::{FRAME_LIMIT, FRAMES_PER_POLL, RankState, Segment, Shm};

use super::Refusal;
use super::frame_queue::FrameQueue;
use super::handshake;
use super::job_file::JobFile;
use super::place::Place;
use super::wire::{End, Kind, PROGRAM_WINDOW, Record, WINDOW, Wire, cost};
use crate::console::warn;
use crate::ports::MOST_PLACES;

/// The most that the frames cost which one poll of the launcher's side takes: of all its peers.
const POLL: usize = FRAMES_PER_POLL * cost(FRAME_LIMIT);
/// The longest sleep while nothing wakes for what is waited for: before the program has attached, that it does; before the
/// first process of the job is there, that one comes; while frames of a process have to stay in its ring, that the program
/// makes room.
const LOOK: Duration = Duration::from_millis(1);

/// Asks the launcher of a job on another machine for a place.
pub(super) fn ask(file: &JobFile) -> Result<Place, Refusal> {
    let (answer, wire) = ask_any(file)?;
    let [number, places, spare, limit] = [0, 1, 2, 4].map(|at| answer[at] as usize);
    let fingerprint = answer[3];
    if places > MOST_PLACES {
        return Err(Refusal::TooManyPlaces(MOST_PLACES));
    }
    let segment = Segment::create(places, fingerprint).map_err(io::Error::other)?;
    segment.set_frame_limit(limit);
    // The segment's own descriptor stays with the thread.
    let memory = format!("/proc/self/fd/{}", segment.fd());
    let memory = File::options().read(true).write(true).open(memory)?.into();
    let (own, other) = UnixStream::pair()?;
    other.set_nonblocking(true)?;
    let mut mirror = Mirror {
        others: (0..places).map(|_| Other::default()).collect(),
        segment,
        place: number,
        wire,
        join: other,
        frame: Vec::new(),
        kept: 0,
        is_told: false,
        end: None,
        is_closed: false,
    };
    // From here on the place is this process's.
    mirror.wire.say(Kind::Passed, number, 0);
    let numbers = [number, places, spare];
    Ok(Place::new(own, memory, numbers, Some(mirror)))
}

/// Asks at one address after the other until there is a place. A job on several hosts has one for each place.
fn ask_any(file: &JobFile) -> Result<([u64; 5], Wire), Refusal> {
    let mut refused = match file.is_of_several_hosts() {
        true => Refusal::NoPlace,
        false => Refusal::NoLauncher,
    };
    let mut silent = Vec::new();
    for address in file.addresses() {
        if silent.contains(&address.ip()) {
            continue;
        }
        let asked = handshake::ask(file, *address)
            .and_then(|(line, wire)| Ok((Place::parse(&line)?, wire)))
            .map_err(|why| match why {
                Refusal::System(error) if is_late(&error) => Refusal::Silent(*address),
                why => why,
            });
        match asked {
            // Whoever has this port or address now need not be of the job: others may be.
            Err(why) => match says(&why) {
                None => return Err(why),
                Some(more) => {
                    if matches!(why, Refusal::Unreachable(..)) {
                        silent.push(address.ip());
                    }
                    if says(&refused).is_none_or(|less| less < more) {
                        refused = why;
                    }
                }
            },
            asked => return asked,
        }
    }
    Err(refused)
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Returns how much that says, if another address may have a place nevertheless.
fn says(why: &Refusal) -> Option<u32> {
    match why {
        Refusal::NoLauncher | Refusal::NoPlace => Some(0),
        Refusal::Unreachable(..) | Refusal::Silent(_) => Some(1),
        Refusal::WrongKey | Refusal::Impostor => Some(2),
        Refusal::Full => Some(3),
        _ => None,
    }
}

pub(super) struct Mirror {
    others: Vec<Other>,
    segment: Segment,
    place: usize,
    wire: Wire,
    /// To `pombo join`, which ends it when the program has ended; this side ends it when the job has.
    join: UnixStream,
    /// The frame that is being passed on.
    frame: Vec<u8>,
    /// What the frames cost for which the program has had no room yet.
    kept: usize,
    /// Whether the launcher's side knows that the program has attached.
    is_told: bool,
    /// How the program has ended, once that was said.
    end: Option<End>,
    /// Whether this side has ended the connection.
    is_closed: bool,
}

/// The place of another process.
#[derive(Default)]
struct Other {
    shm: Option<Shm>,
    /// What the frames to it cost that have not been passed on.
    under_way: usize,
    /// Frames from it for which the program has had no room yet.
    frames: FrameQueue,
    /// How it has ended, until the program is told, after these frames.
    lost: Option<End>,
    /// Whether all that the program sent to it has been taken.
    is_drained: bool,
}

impl Mirror {
    /// Starts its thread. The signals for which `pombo join` waits are blocked before.
    pub(super) fn start(self) -> io::Result<()> {
        let thread = thread::Builder::new().name("mirror".into());
        thread.spawn(move || self.run()).map(drop)
    }

    fn run(mut self) {
        let over = loop {
            match self.turn() {
                Ok(Some(true)) => {}
                Ok(Some(false)) => self.sleep(),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if let Err(error) = over {
            warn(&format!("lost the job's launcher: {error}"));
        }
        // Dropped, they would tell the program that all others have died. It ends now, and must not act on that.
        std::mem::forget(self.others);
    }

    /// Does what can be done without waiting. Returns whether that was anything; `None` at the end.
    fn turn(&mut self) -> io::Result<Option<bool>> {
        if !self.wire.receive()? {
            return Ok(None);
        }
        let mut any = false;
        while let Some(record) = self.wire.next()? {
            self.take(record)?;
            any = true;
        }
        any |= self.pass_on()?;
        any |= self.tell_attached();
        for place in 0..self.others.len() {
            any |= self.poll(place)?;
        }
        self.tell_end()?;
        any |= self.wire.flush()?;
        if self.end.is_some() && !self.is_closed && !self.wire.is_waiting() && self.has_ended() {
            self.wire.end();
            self.is_closed = true;
        }
        Ok(Some(any))
    }

    /// Handles what the launcher's side says.
    fn take(&mut self, record: Record) -> io::Result<()> {
        let Record { kind, place, .. } = record;
        if place >= self.others.len() || place == self.place && kind != Kind::Frame {
            return Err(ErrorKind::InvalidData.into());
        }
        match kind {
            Kind::Started if self.end.is_none() => self.attach(place, record.number)?,
            Kind::Frame => {
                self.kept += cost(record.frame.len());
                if self.kept > PROGRAM_WINDOW + POLL {
                    return Err(ErrorKind::InvalidData.into());
                }
                self.others[place].frames.push(record.frame);
            }
            Kind::Passed => {
                let other = &mut self.others[place];
                other.under_way = other.under_way.saturating_sub(record.number as usize);
            }
            Kind::Lost => self.others[place].lost = Some(End::of(record.number)),
            _ => {}
        }
        Ok(())
    }

    /// Passes on what has come for the program, as far as it has room, and tells the launcher's side.
    fn pass_on(&mut self) -> io::Result<bool> {
        let to = Peer(self.place as u16);
        let mut passed = 0;
        for other in &mut self.others {
            passed += match &mut other.shm {
                Some(shm) => other.frames.send(shm, to)?,
                // From a place where nobody is, nothing is for the program.
                None => other.frames.clear(),
            };
        }
        self.kept -= passed;
        if passed > 0 && !self.is_closed {
            self.wire.say(Kind::Passed, self.place, passed as u64);
        }
        let mut any = passed > 0;
        for place in 0..self.others.len() {
            let other = &mut self.others[place];
            if other.frames.is_empty()
                && let Some(end) = other.lost.take()
            {
                self.lose(place, end)?;
                any = true;
            }
        }
        Ok(any)
    }

    /// Tells the program that a process has ended.
    fn lose(&mut self, place: usize, end: End) -> io::Result<()> {
        if let Some(rank) = end.because_of {
            let _ = self.segment.set_root_cause(place, rank);
        }
        if end.has_left {
            self.attach(place, self.segment.fingerprint())?;
        }
        if let Some(mut shm) = self.others[place].shm.take()
            && end.has_left
        {
            shm.finish();
        }
        let _ = self.segment.mark_dead(place);
        self.others[place].is_drained = true;
        Ok(())
    }

    /// Takes the place of a process that is there.
    fn attach(&mut self, place: usize, fingerprint: u64) -> io::Result<()> {
        let other = &mut self.others[place];
        if other.shm.is_none() && !other.is_drained {
            let segment = Segment::open(self.segment.fd());
            let shm = segment.and_then(|segment| Shm::attach(segment, place, fingerprint));
            other.shm = Some(shm.map_err(io::Error::other)?);
        }
        Ok(())
    }

    fn state(&self) -> RankState {
        self.segment.state(self.place).unwrap_or(RankState::Dead)
    }

    fn tell_attached(&mut self) -> bool {
        let tells =
            !self.is_told && matches!(self.state(), RankState::Attached | RankState::Finished);
        if tells {
            self.is_told = true;
            self.wire
                .say(Kind::Attached, self.place, self.segment.fingerprint());
        }
        tells
    }

    /// Sends what the program has sent to that place.
    fn poll(&mut self, place: usize) -> io::Result<bool> {
        let (wire, bytes) = (&mut self.wire, &mut self.frame);
        let Other {
            shm,
            under_way,
            is_drained,
            ..
        } = &mut self.others[place];
        let Some(shm) = shm
            .as_mut()
            .filter(|_| wire.has_room() && *under_way < WINDOW)
        else {
            return Ok(false);
        };
        let polled = shm.poll(|event| match event {
            Event::Arrival(frame) if !frame.refuse() => {
                bytes.clear();
                frame.for_each_chunk(0, frame.len(), |piece| bytes.extend(piece));
                *under_way += wire.add_frame(place, bytes);
            }
            Event::PeerLost(peer) => *is_drained |= peer.index() == self.place,
            _ => {}
        });
        polled.map_err(io::Error::other)
    }

    /// Says how the program has ended, after all that it sent.
    fn tell_end(&mut self) -> io::Result<()> {
        if self.has_ended() {
            let _ = self.segment.mark_dead(self.place);
        }
        let has_left = match self.state() {
            RankState::Finished => true,
            RankState::Dead => false,
            _ => return Ok(()),
        };
        if self.end.is_some() {
            return Ok(());
        }
        // What it sent to places that nobody has taken yet waits for them there.
        for place in 0..self.others.len() {
            if place != self.place && self.is_told {
                self.attach(place, self.segment.fingerprint())?;
            }
        }
        let mut others = self.others.iter();
        if others.all(|other| other.is_drained || other.shm.is_none()) {
            let because_of = self.segment.root_cause(self.place);
            let end = End {
                has_left,
                because_of,
            };
            self.end = Some(end);
            self.wire.say(Kind::Left, self.place, end.number());
        }
        Ok(())
    }

    /// Returns whether the process of the program has ended.
    fn has_ended(&self) -> bool {
        matches!((&self.join).read(&mut [0]), Ok(0))
    }

    /// Sleeps until something may have come.
    fn sleep(&mut self) {
        let wire = self.wire.as_fd().as_raw_fd();
        // An end that has been seen would be seen again and again.
        let program = match self.has_ended() {
            false => self.join.as_raw_fd(),
            true => -1,
        };
        let set = WaitSet::readable([wire, program]).writable(self.wire.is_full(), [wire]);
        let may_send = self.wire.has_room();
        let (mut waiting, mut looks) = (Vec::new(), program < 0 && self.end.is_none());
        for other in &mut self.others {
            match &mut other.shm {
                Some(shm) if may_send && other.under_way < WINDOW => waiting.push(shm),
                Some(_) => looks |= !other.frames.is_empty(),
                None => {}
            }
        }
        // What attaches wakes nobody.
        looks |= (waiting.is_empty() || !self.is_told) && self.end.is_none();
        let set = match looks {
            true => set.at_most(LOOK.as_nanos() as u64),
            false => set,
        };
        Shm::wait_for_any(&mut waiting, set);
    }
}
