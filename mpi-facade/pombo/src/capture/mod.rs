//! `pombo capture`: describes the frames on a network, or writes them to a file for other programs. `cli` calls it.

mod bytes;
mod decode;
mod encapsulation;
mod message;
mod pcapng;
mod protocol;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Stdout, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use pombo_netdrivers::ethernet::{EthernetError, Sniffer};

use crate::console::warn;
use crate::error::Error;
use crate::install::is_same_file;
use pcapng::{Reader, Writer};

/// Arguments of `pombo capture`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Interface to listen at; what ranks of one host send each other goes by lo, with --net ethernet:eth0 too
    #[arg(value_name = "INTERFACE", required_unless_present = "read")]
    interface: Option<String>,
    /// Put the frames into a pcapng file, for Wireshark and others, and print nothing
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print what a pcapng file has
    #[arg(long, value_name = "FILE", conflicts_with_all = ["interface", "seconds"])]
    read: Option<PathBuf>,
    /// End after so many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after so long
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    seconds: Option<u64>,
}

/// Buffer of a frame in bytes: frames that the interface segments later may still be together.
const ROOM: usize = 1 << 17;
/// Milliseconds between two checks of the clock and of signals.
const TICK: i32 = 100;
/// Number of frames between two such checks on a busy network.
const BUSY: u32 = 256;

/// The system's errors for an interface that is down or has gone.
const GONE: [i32; 3] = [
    Errno::ENETDOWN as i32,
    Errno::ENODEV as i32,
    Errno::ENXIO as i32,
];

/// Captures until a limit of the options is reached, or until Ctrl-C.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    if let (Some(read), Some(write)) = (&options.read, &options.write)
        && is_same_file(read, write)
    {
        let why = io::Error::other("it is the file that is read: name another one");
        return Err(Error::file("write", write)(why));
    }
    let mut to = match &options.write {
        Some(path) => Out::file(path)?,
        None => Out::Lines(Lines::new()),
    };
    let most = options.count.unwrap_or(u64::MAX);
    let ended = match (&options.read, &options.interface) {
        (Some(path), _) => from_file(path, &mut to, most),
        (None, Some(name)) => live(name, &mut to, most, options.seconds),
        (None, None) => Ok(()),
    };
    let flushed = to.flush();
    ended.and(flushed).map(|()| 0)
}

fn from_file(path: &Path, to: &mut Out, most: u64) -> Result<(), Error> {
    let file = File::open(path).map_err(Error::file("open", path))?;
    let mut reader = Reader::new(BufReader::new(file));
    let (mut shown, mut others) = (0, 0);
    while shown < most {
        let Some(frame) = reader.next().map_err(Error::file("read", path))? else {
            break;
        };
        let (time, bytes) = (frame.time, frame.bytes);
        match to.put(time, bytes.len(), bytes)? {
            Put::Done(frames) => shown += frames,
            Put::Foreign => others += 1,
            Put::Closed => return Ok(()),
        }
    }
    warn(&format!("{shown} frames of Pombo, {others} others"));
    Ok(())
}

fn live(name: &str, to: &mut Out, most: u64, seconds: Option<u64>) -> Result<(), Error> {
    let failed = |source| Error::Capture { source };
    let ended = |source, taken| match source {
        EthernetError::System { errno, .. } if GONE.contains(&errno) => Error::CaptureEnded {
            interface: name.to_owned(),
            taken,
        },
        source => failed(source),
    };
    let mut sniffer = Sniffer::open(name).map_err(failed)?;
    let signals = signals()?;
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut room = vec![0; ROOM];
    let (mut taken, mut since) = (0, BUSY);
    warn(&format!("listening on {name}; Ctrl-C ends"));
    while taken < most {
        let frame = sniffer.next(&mut room, 0);
        let frame = frame.map_err(|error| ended(error, taken))?;
        let frame = match frame {
            Some(_) => frame,
            None => {
                // A person who watches sees at once what has arrived.
                to.flush()?;
                since = BUSY;
                let frame = sniffer.next(&mut room, TICK);
                frame.map_err(|error| ended(error, taken))?
            }
        };
        if let Some(frame) = frame {
            let kept = &room[..frame.len.min(ROOM)];
            match to.put(frame.time, frame.len, kept)? {
                Put::Done(frames) => taken += frames,
                Put::Foreign => {}
                Put::Closed => break,
            }
        }
        since += 1;
        if since > BUSY {
            since = 0;
            let over = end.is_some_and(|end| Instant::now() >= end);
            if over || matches!(signals.read_signal(), Ok(Some(_))) {
                break;
            }
        }
    }
    let lost = sniffer.dropped();
    warn(&format!(
        "captured {taken} frames; {lost} of all found no room in the system"
    ));
    Ok(())
}

/// Returns the signals that end a capture regularly, as a descriptor.
fn signals() -> Result<SignalFd, Error> {
    let ending = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    let set: SigSet = ending.into_iter().collect();
    set.thread_block().map_err(Error::errno("block signals"))?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    SignalFd::with_flags(&set, flags).map_err(Error::errno("open a descriptor for signals"))
}

/// The destination of frames.
enum Out {
    File(Writer<BufWriter<File>>, PathBuf),
    Lines(Lines),
}

/// The result of writing a frame.
enum Put {
    /// The frame held this many frames of Pombo.
    Done(u64),
    /// The frame is not Pombo's.
    Foreign,
    /// The reader of the output has gone.
    Closed,
}

impl Out {
    fn file(path: &Path) -> Result<Self, Error> {
        let file = File::create(path).map_err(Error::file("create", path))?;
        let writer = Writer::new(BufWriter::new(file)).map_err(Error::file("write", path))?;
        Ok(Out::File(writer, path.into()))
    }

    fn put(&mut self, time: u64, len: usize, bytes: &[u8]) -> Result<Put, Error> {
        let frames = decode::decode(bytes);
        if frames.is_empty() {
            return Ok(Put::Foreign);
        }
        match self {
            Out::File(writer, path) => {
                let written = writer.frame(time, len, bytes);
                written.map_err(Error::file("write", path.as_path()))?;
                Ok(Put::Done(frames.len() as u64))
            }
            Out::Lines(lines) => lines.show(time, &frames),
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        match self {
            Out::File(writer, path) => writer.flush().map_err(Error::file("write", path.as_path())),
            Out::Lines(lines) => open(lines.to.flush()).map(drop),
        }
    }
}

/// Output for a person.
struct Lines {
    to: BufWriter<Stdout>,
    /// The time of the first frame.
    begin: Option<u64>,
}

impl Lines {
    fn new() -> Self {
        let to = BufWriter::new(stdout());
        Lines { to, begin: None }
    }

    fn show(&mut self, time: u64, frames: &[decode::Frame]) -> Result<Put, Error> {
        if self.begin.is_none() && !open(writeln!(self.to, "{}", decode::TITLE))? {
            return Ok(Put::Closed);
        }
        let since = time.saturating_sub(*self.begin.get_or_insert(time));
        let (seconds, rest) = (since / 1_000_000_000, since % 1_000_000_000 / 1000);
        for frame in frames {
            if !open(writeln!(self.to, "{seconds:>5}.{rest:06} {frame}"))? {
                return Ok(Put::Closed);
            }
        }
        Ok(Put::Done(frames.len() as u64))
    }
}

/// Returns whether the reader is still there. `head` leaves early, and that is no failure.
fn open(written: io::Result<()>) -> Result<bool, Error> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::system("write to standard output")(error)),
    }
}
