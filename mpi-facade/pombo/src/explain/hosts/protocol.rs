//! What a desk, its reporters and `pombo explain` say to each other: one JSON object on each line, over TCP.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::explain::rank_report::RankReport;

/// Longest line in bytes: what a host with as many ranks as there may be says, each as much as it may.
const MAX_LINE: u64 = 8 << 20;
/// Longest first line.
const MAX_HELLO: u64 = 1024;
/// How long a connection may take to say who it is.
pub(super) const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// The first line of a connection to a desk.
#[derive(Deserialize, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum Hello {
    /// The reporter of a host, of which Hydra knows the number and the system the name.
    Reporter {
        key: String,
        host: usize,
        name: String,
    },
    /// Who keeps a place for a process that joins. A [`Placed`] follows.
    Place { key: String },
    /// `pombo explain`.
    Explain { key: String },
}

/// Where a place is kept, once the job has begun.
#[derive(Deserialize, Serialize)]
pub(super) struct Placed {
    pub(super) addresses: Vec<SocketAddr>,
}

/// A question to a reporter.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(super) struct Question {
    pub(super) number: u64,
    /// How long ranks that wait may take to answer.
    pub(super) patience_ms: u64,
    /// Whether to look for programs: while places wait for the job to begin.
    pub(super) counts_programs: bool,
}

/// A reporter's answer.
#[derive(Deserialize, Serialize)]
pub(crate) struct Answer {
    pub(super) number: u64,
    pub(super) ranks: Vec<RankReport>,
    /// The number of ranks that Hydra has started on this host, places among them, and whether a program lives; true if that
    /// was not asked.
    pub(super) started: usize,
    pub(super) has_program: bool,
}

/// Lines of a connection.
pub(super) struct Lines {
    reader: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn new(stream: TcpStream) -> Lines {
        Lines {
            reader: BufReader::new(stream),
            line: Vec::new(),
        }
    }

    /// Returns the first line, which is short.
    pub(super) fn hello(&mut self) -> io::Result<Hello> {
        self.next_within(MAX_HELLO)
    }

    /// Returns the next line. After an error of time the same line can be read on.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        self.next_within(MAX_LINE)
    }

    fn next_within<T: DeserializeOwned>(&mut self, most: u64) -> io::Result<T> {
        let left = most.saturating_sub(self.line.len() as u64);
        let mut reader = (&mut self.reader).take(left);
        reader.read_until(b'\n', &mut self.line)?;
        // A line without its end is too long, or the other side has gone.
        let line = std::mem::take(&mut self.line);
        match line.ends_with(b"\n") {
            true => Ok(serde_json::from_slice(&line)?),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Sends a line.
pub(super) fn send(mut stream: &TcpStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)
}
