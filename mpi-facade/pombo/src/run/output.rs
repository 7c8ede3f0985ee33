//! Forwards what ranks print to the launcher's own output. Only `supervise` uses it.
//!
//! A line is forwarded whole, after its newline or at the end of the rank's output. A line longer than `LINE` bytes
//! goes in pieces of that size, between which lines of other ranks may stand. If the reader of the launcher's output is
//! slow, at most `PENDING` bytes and one read of each kind wait here, plus the final output of ranks that failed, at
//! most `LAST` bytes of each pipe; then the ranks' pipes fill and their writes block.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write, stderr, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::time::Duration;

use super::poll::{Interest, Ready};
use crate::error::Error;

/// Longest line that is forwarded in one piece.
const LINE: usize = 64 * 1024;
/// Bytes that may wait for the launcher's output; beyond it the ranks' pipes are not read.
const PENDING: usize = 256 * 1024;
/// Bytes that are read from the pipe of a rank that has ended: as much as a pipe holds. Further output comes from
/// processes that the rank started.
const LAST: usize = 1024 * 1024;
/// A pipe that polls as writable takes this much without blocking (PIPE_BUF).
const PIPE: usize = 4096;

/// The two outputs of a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// All output of a job.
pub(crate) struct Outputs {
    /// Standard output and standard error, or one for both if they are the same file: otherwise a line of one could be
    /// written into a line of the other.
    outputs: Vec<Output>,
    sources: Vec<RankPipe>,
    buffer: Box<[u8]>,
    tag: bool,
}

/// One pipe that a rank prints into.
struct RankPipe {
    pipe: Option<File>,
    rank: usize,
    output: usize,
    line: Vec<u8>,
}

/// One output of the launcher.
struct Output {
    file: File,
    pending: VecDeque<u8>,
    /// Largest write that cannot block.
    chunk: usize,
    /// Whether the last byte forwarded was a newline.
    at_line_start: bool,
    failed: Option<io::Error>,
}

impl Outputs {
    /// Creates the launcher's outputs, without ranks.
    pub(crate) fn new(tag: bool) -> Result<Outputs, Error> {
        let doing = "open the launcher's own output";
        let copy = |descriptor: io::Result<OwnedFd>| descriptor.map(File::from);
        let out = copy(stdout().as_fd().try_clone_to_owned()).map_err(Error::system(doing))?;
        let err = copy(stderr().as_fd().try_clone_to_owned()).map_err(Error::system(doing))?;
        let mut outputs = vec![Output::new(out)];
        if !outputs[0].is_same_file(&err) {
            outputs.push(Output::new(err));
        }
        Ok(Outputs {
            outputs,
            sources: Vec::new(),
            buffer: vec![0; LINE].into(),
            tag,
        })
    }

    /// Adds a pipe of a rank.
    pub(crate) fn add(&mut self, rank: usize, stream: Stream, pipe: OwnedFd) {
        self.sources.push(RankPipe {
            pipe: Some(pipe.into()),
            rank,
            output: self.output_of(stream),
            line: Vec::new(),
        });
    }

    /// Writes a line of the launcher's own to standard error.
    pub(crate) fn say(&mut self, text: &str) {
        let output = self.output_of(Stream::Err);
        let output = &mut self.outputs[output];
        if !output.at_line_start {
            output.push(b"\n");
        }
        output.push(format!("pombo: {text}\n").as_bytes());
    }

    /// Adds the descriptors to wait for: pipes while there is space for their lines, and outputs with pending bytes.
    pub(crate) fn interest<'a>(&'a self, interest: &mut Interest<'a>) {
        for (index, output) in self.outputs.iter().enumerate() {
            if !output.pending.is_empty() {
                interest.writable(output.file.as_fd(), Ready::Sink(index));
            }
        }
        for (index, source) in self.sources.iter().enumerate() {
            let has_room = self.outputs[source.output].has_room();
            if let Some(pipe) = source.pipe.as_ref().filter(|_| has_room) {
                interest.readable(pipe.as_fd(), Ready::Source(index));
            }
        }
    }

    /// Reads once from a pipe that is ready.
    pub(crate) fn read(&mut self, index: usize) {
        let source = &mut self.sources[index];
        let output = &mut self.outputs[source.output];
        let Some(pipe) = source.pipe.as_mut().filter(|_| output.has_room()) else {
            return;
        };
        match pipe.read(&mut self.buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                source.flush(output, self.tag);
                source.pipe = None;
            }
            Ok(length) => source.feed(&self.buffer[..length], output, self.tag),
        }
    }

    /// Reads the output of a rank that has ended, so that a message about its end comes after it.
    pub(crate) fn finish(&mut self, rank: usize) {
        for source in self.sources.iter_mut().filter(|source| source.rank == rank) {
            let output = &mut self.outputs[source.output];
            let mut taken = 0;
            while taken < LAST
                && let Some(pipe) = source.pipe.as_mut()
                && is_readable(pipe)
            {
                match pipe.read(&mut self.buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => source.pipe = None,
                    Ok(length) => {
                        source.feed(&self.buffer[..length], output, self.tag);
                        taken += length;
                    }
                }
            }
            source.flush(output, self.tag);
        }
    }

    /// Writes once to an output that is ready. If that fails, closes the pipes of its ranks, so that they get the error
    /// that they would get without a launcher.
    pub(crate) fn write(&mut self, index: usize) {
        self.outputs[index].write();
        let Some(error) = &self.outputs[index].failed else {
            return;
        };
        let message = format!("cannot write the ranks' output: {error}");
        let is_quiet = error.kind() == ErrorKind::BrokenPipe;
        let of_sink = |source: &&mut RankPipe| source.output == index && source.pipe.is_some();
        for source in self.sources.iter_mut().filter(of_sink) {
            source.pipe = None;
        }
        if !is_quiet {
            self.say(&message);
        }
    }

    /// Returns whether no more output can come from a rank.
    pub(crate) fn is_closed(&self, rank: usize) -> bool {
        let mut of_rank = self.sources.iter().filter(|source| source.rank == rank);
        of_rank.all(|source| source.pipe.is_none())
    }

    /// Returns whether bytes wait to be written.
    pub(crate) fn is_pending(&self) -> bool {
        self.outputs.iter().any(|output| !output.pending.is_empty())
    }

    /// Forwards unfinished lines at the end of the job.
    pub(crate) fn flush(&mut self) {
        for source in &mut self.sources {
            source.flush(&mut self.outputs[source.output], self.tag);
        }
    }

    /// Returns whether the reader of the ranks' output has gone (as `head` does).
    pub(crate) fn has_lost_reader(&self) -> bool {
        self.failure(|error| error.kind() == ErrorKind::BrokenPipe)
    }

    /// Returns whether output was lost for another reason.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure(|error| error.kind() != ErrorKind::BrokenPipe)
    }

    fn failure(&self, of_kind: impl Fn(&io::Error) -> bool) -> bool {
        self.outputs
            .iter()
            .any(|output| output.failed.as_ref().is_some_and(&of_kind))
    }

    fn output_of(&self, stream: Stream) -> usize {
        match stream {
            Stream::Out => 0,
            Stream::Err => self.outputs.len() - 1,
        }
    }
}

impl RankPipe {
    fn feed(&mut self, mut bytes: &[u8], output: &mut Output, tag: bool) {
        while !bytes.is_empty() {
            let room = (LINE - self.line.len()).min(bytes.len());
            let newline = bytes[..room].iter().position(|&byte| byte == b'\n');
            let (piece, rest) = bytes.split_at(newline.map_or(room, |at| at + 1));
            self.line.extend_from_slice(piece);
            if newline.is_some() || self.line.len() == LINE {
                self.flush(output, tag);
            }
            bytes = rest;
        }
    }

    /// Forwards an unfinished line. With tags it ends by a newline, because the next line has a tag of its own.
    fn flush(&mut self, output: &mut Output, tag: bool) {
        if self.line.is_empty() {
            return;
        }
        if tag {
            output.push(format!("[{}] ", self.rank).as_bytes());
            if !self.line.ends_with(b"\n") {
                self.line.push(b'\n');
            }
        }
        output.push(&self.line);
        self.line.clear();
    }
}

/// Returns whether a read would not block.
fn is_readable(pipe: &File) -> bool {
    let mut interest = Interest::default();
    interest.readable(pipe.as_fd(), Ready::Terminal);
    interest
        .wait(Some(Duration::ZERO))
        .is_ok_and(|ready| !ready.is_empty())
}

impl Output {
    fn new(file: File) -> Output {
        let kind = file.metadata().map(|data| data.file_type());
        let is_plain = kind.is_ok_and(|kind| kind.is_file() || kind.is_block_device());
        Output {
            file,
            pending: VecDeque::new(),
            chunk: if is_plain { PENDING } else { PIPE },
            at_line_start: true,
            failed: None,
        }
    }

    fn is_same_file(&self, other: &File) -> bool {
        match (self.file.metadata(), other.metadata()) {
            (Ok(one), Ok(two)) => (one.dev(), one.ino()) == (two.dev(), two.ino()),
            _ => false,
        }
    }

    fn has_room(&self) -> bool {
        self.pending.len() < PENDING
    }

    fn push(&mut self, bytes: &[u8]) {
        if let (None, Some(last)) = (&self.failed, bytes.last()) {
            self.pending.extend(bytes);
            self.at_line_start = *last == b'\n';
        }
    }

    fn write(&mut self) {
        let (front, _) = self.pending.as_slices();
        let front = &front[..front.len().min(self.chunk)];
        match self.file.write(front) {
            Ok(written) => drop(self.pending.drain(..written)),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock => {}
                _ => {
                    self.failed = Some(error);
                    self.pending.clear();
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output() -> Output {
        Output::new(File::open("/dev/null").unwrap())
    }

    fn source() -> RankPipe {
        RankPipe {
            pipe: None,
            rank: 3,
            output: 0,
            line: Vec::new(),
        }
    }

    fn text(output: &mut Output) -> Vec<u8> {
        output.pending.drain(..).collect()
    }

    #[test]
    fn a_line_waits_for_its_end() {
        let (mut output, mut source) = (output(), source());
        source.feed(b"one\ntw", &mut output, false);
        assert_eq!(text(&mut output), b"one\n");
        source.feed(b"o\n\nthree", &mut output, false);
        assert_eq!(text(&mut output), b"two\n\n");
        source.flush(&mut output, false);
        source.flush(&mut output, false);
        assert_eq!(text(&mut output), b"three");
    }

    #[test]
    fn tags_begin_every_line() {
        let (mut output, mut source) = (output(), source());
        source.feed(b"one\n\ntwo", &mut output, true);
        source.flush(&mut output, true);
        assert_eq!(text(&mut output), b"[3] one\n[3] \n[3] two\n");
    }

    #[test]
    fn a_long_line_goes_in_bounded_pieces() {
        let (mut output, mut source) = (output(), source());
        let long = vec![b'x'; 2 * LINE + 10];
        source.feed(&long, &mut output, false);
        assert_eq!(output.pending.len(), 2 * LINE);
        assert_eq!(source.line.len(), 10);
        source.feed(b"\n", &mut output, false);
        assert_eq!(text(&mut output), [&long[..], b"\n"].concat());
        source.feed(&long[..LINE], &mut output, true);
        assert_eq!(text(&mut output).len(), LINE + 5);
    }

    #[test]
    fn a_failed_sink_takes_nothing_more() {
        let mut output = output();
        output.push(b"x");
        output.write();
        assert!(output.failed.is_some());
        output.push(b"y");
        assert!(output.pending.is_empty());
    }
}
