//! `pombo __reporter`: asks the ranks of a host for the launcher. Hydra starts the first rank of every host by a command
//! line that starts this process first, beside the rank; see `run::hydra_delegation`.
//!
//! It ends with the connection to the launcher.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use nix::unistd::{close, setsid};

use super::process_tree::{self, HostMemory};
use super::protocol::{Answer, HELLO_TIMEOUT, Hello, Lines, Placed, Question, send};
use crate::error::Error;
use crate::explain::inquiry::{Inquiry, POLL_INTERVAL};
use crate::explain::rank_report::RankReport;
use crate::procfs::hostname;
use crate::variables::LAUNCHER;

/// The subcommand's name.
pub(crate) const NAME: &str = "__reporter";

/// A launcher that asks nothing for so long has gone with its host, if Hydra's process on this one has gone as well.
const SILENCE: Duration = Duration::from_secs(60);

/// Reports until the launcher closes the connection. The word is the process ID of Hydra's proxy, which is the parent of
/// the ranks here.
pub(crate) fn main(words: &[OsString]) -> Result<u8, Error> {
    // Hydra takes the end of a rank's pipes for the end of the rank: nobody else may hold them.
    close_inherited();
    let _ = setsid();
    let proxy = words.first().and_then(|word| word.to_str()?.parse().ok());
    let proxy = proxy.ok_or_else(by_hand)?;
    let (stream, key, host) = reach(proxy)?;
    let name = hostname();
    let hello = Hello::Reporter { key, host, name };
    // The end of the connection is the end of the job.
    let _ = send(&stream, &hello).and_then(|()| report(&stream, proxy));
    Ok(0)
}

/// Tells the launcher that this process, below that one of Hydra's proxy, keeps a place for a process that joins. Returns the
/// connection and its secret. The connection ends with the launcher, or before the job begins, if it never will.
pub(crate) fn enter_place(proxy: u32) -> Result<(TcpStream, String), Error> {
    let (stream, key, _) = reach(proxy)?;
    let secret = key.clone();
    send(&stream, &Hello::Place { key }).map_err(Error::system(REACH))?;
    Ok((stream, secret))
}

/// Tells the launcher by that connection at which addresses the place is given.
pub(crate) fn report_place(stream: &TcpStream, addresses: Vec<SocketAddr>) -> Result<(), Error> {
    send(stream, &Placed { addresses }).map_err(Error::system(REACH))
}

const REACH: &str = "reach the launcher of the job";

fn by_hand() -> Error {
    Error::Value {
        what: NAME,
        given: String::new(),
        want: "nothing by hand: it is for the launcher alone",
    }
}

/// Connects to the launcher that has started this proxy. Returns its key, and the number of this host, too.
fn reach(proxy: u32) -> Result<(TcpStream, String, usize), Error> {
    let said = std::env::var(LAUNCHER.name()).unwrap_or_default();
    let (port, key) = said.split_once(':').ok_or_else(by_hand)?;
    let (launcher, host) = of_proxy(proxy).ok_or_else(by_hand)?;
    let port = port.parse().map_err(|_| by_hand())?;
    let stream = connect(&launcher, port).map_err(Error::system(REACH))?;
    Ok((stream, key.to_owned(), host))
}

fn close_inherited() {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let number = |name: OsString| name.to_str().and_then(|name| name.parse::<i32>().ok());
    let open: Vec<i32> = entries
        .flatten()
        .filter_map(|entry| number(entry.file_name()))
        .collect();
    for descriptor in open.into_iter().filter(|number| *number > 2) {
        // That of the directory is closed already.
        let _ = close(descriptor);
    }
}

/// Returns the host of the launcher, as the proxy was told it, and the number of this host among those of the job.
fn of_proxy(proxy: u32) -> Option<(String, usize)> {
    let line = std::fs::read(format!("/proc/{proxy}/cmdline")).ok()?;
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let behind = |option: &str| {
        let at = words.iter().position(|word| *word == option.as_bytes())?;
        std::str::from_utf8(words.get(at + 1)?).ok()
    };
    let (launcher, _) = behind("--control-port")?.rsplit_once(':')?;
    Some((launcher.to_owned(), behind("--proxy-id")?.parse().ok()?))
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = ErrorKind::NotFound.into();
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, HELLO_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn report(stream: &TcpStream, proxy: u32) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut lines = Lines::new(stream.try_clone()?);
    let ranks_here = std::env::var("MPI_LOCALNRANKS").unwrap_or_default();
    let ranks_here = ranks_here.parse().unwrap_or(usize::MAX);
    let mut memories = Vec::new();
    loop {
        let question: Question = match lines.next() {
            Err(error) if is_late(&error) && Path::new(&format!("/proc/{proxy}")).exists() => {
                continue;
            }
            question => question?,
        };
        if ranks_of(&memories) < ranks_here {
            process_tree::find(proxy, &mut memories);
        }
        let answer = Answer {
            number: question.number,
            ranks: ask(&memories, Duration::from_millis(question.patience_ms)),
            started: ranks_here,
            has_program: !question.counts_programs || process_tree::has_program(proxy),
        };
        send(stream, &answer)?;
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn ranks_of(memories: &[HostMemory]) -> usize {
    memories.iter().map(|memory| memory.segment.ranks()).sum()
}

/// Asks all ranks of this host at once.
fn ask(memories: &[HostMemory], patience: Duration) -> Vec<RankReport> {
    let segments = memories.iter().map(|memory| &memory.segment);
    let mut open: Vec<_> = segments
        .map(|segment| (segment, Inquiry::begin(segment)))
        .collect();
    let mut ranks = Vec::new();
    while !open.is_empty() {
        open.retain(|(segment, inquiry)| match inquiry.poll(segment, patience) {
            Some(reports) => {
                ranks.extend(reports);
                false
            }
            None => true,
        });
        if !open.is_empty() {
            sleep(POLL_INTERVAL);
        }
    }
    ranks
}
