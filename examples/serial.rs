//! Two processes at the ends of a serial line that loses one byte in a thousand, as a program without drivers writes
//! it.
//!
//! ```text
//! cargo run --release --package pombo-transport --example serial
//! ```
//!
//! On an embedded machine the stream is a UART: `read` and `write` access its registers, and `now` reads a counter.
//! Nothing else changes.

use pombo_kernel::ChannelError;
use pombo_kernel::prelude::*;
use pombo_transport::reliable::{Reliable, Timing, Window};
use pombo_transport::serial_line::{ByteStream, SerialLine};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Instant;

/// The line: a socket, the number of bytes sent, and the start time.
struct Line(UnixStream, usize, Instant);

/// Returns the bytes read or written: 0 where there was nothing to read, or no room.
fn count(done: std::io::Result<usize>) -> Result<usize, ChannelError> {
    match done {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        done => done.map_err(|error| ChannelError::Device(error.raw_os_error().unwrap_or(0))),
    }
}

impl ByteStream for Line {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, ChannelError> {
        match self.0.read(into) {
            // The other end has closed, which only a socket reports.
            Ok(0) => Err(ChannelError::Device(0)),
            done => count(done),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, ChannelError> {
        self.1 += 1;
        if self.1.is_multiple_of(1000) {
            return Ok(1);
        }
        count(self.0.write(&bytes[..1]))
    }

    fn now(&self) -> u64 {
        self.2.elapsed().as_nanos() as u64
    }

    fn wait(&mut self, _idle: u32, _until: u64) -> Result<(), ChannelError> {
        std::thread::yield_now();
        Ok(())
    }
}

header! {
    /// The topic of a message.
    struct Topic { number: u8 }
}

/// Two peers, with a window of four frames of 512 bytes.
type Channel = Reliable<SerialLine<Line>, Window<2, 4, 512>>;
type Comm = Communicator<Topic, Channel, Lent<'static>>;

fn comm(stream: UnixStream, me: Peer) -> Result<Comm, Box<dyn std::error::Error>> {
    stream.set_nonblocking(true)?;
    let line = SerialLine::new(Line(stream, 0, Instant::now()), me)?;
    // Frames never overtake each other on a serial line.
    let timing = Timing {
        overtakers: 1,
        ..Timing::default()
    };
    Ok(Comm::new(Channel::with(line, 0x5eed, timing)?)?)
}

/// Answers each number with its successor, as long as the peer is alive.
fn answer(mut comm: Comm) -> Result<(), Error> {
    let mut number = [0; 4];
    loop {
        comm.recv(Topic::number(1), &mut number)?;
        let next = u32::from_le_bytes(number) + 1;
        comm.send(Peer(0), Topic { number: 2 }, &next.to_le_bytes())?;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).is_some() {
        let stream = std::io::stdin().as_fd().try_clone_to_owned()?;
        return Ok(answer(comm(stream.into(), Peer(1))?)?);
    }
    let (here, there) = UnixStream::pair()?;
    let mut command = Command::new(std::env::current_exe()?);
    let mut other = command.arg("other").stdin(OwnedFd::from(there)).spawn()?;
    drop(command);
    let mut comm = comm(here, Peer(0))?;
    let mut number = [0; 4];
    for _ in 0..1000 {
        comm.send(Peer(1), Topic { number: 1 }, &number)?;
        comm.recv(Topic::number(2), &mut number)?;
    }
    println!(
        "{} round trips, {} damaged frames here",
        u32::from_le_bytes(number),
        comm.channel().network().damaged()
    );
    other.kill()?;
    other.wait()?;
    Ok(())
}
