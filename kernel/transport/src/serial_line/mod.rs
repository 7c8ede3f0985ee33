//! A serial line as a network of two peers: [`SerialLine`] over anything that takes and gives bytes, [`ByteStream`]. A
//! program on a bare machine writes two functions for its UART and a clock, and has a channel by
//! [`Reliable`](crate::Reliable).
//!
//! On the line a frame and its CRC-32C stand between two zeros, stuffed (COBS). The CRC covers the frame and who has
//! sent it, so a line that echoes brings nothing; protocols above add no checksum. Bytes may be lost, changed or
//! invented: the next zero begins anew, so noise between frames costs none and noise within a frame costs that one.
//!
//! Damage that leaves the stuffing as it is shows always if it is one burst of up to 32 bits, or up to 5 bits in 655
//! bytes; any other damage with all but one in 2^32.
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | bytes of a frame and its CRC | `N` | [`ChannelError::TooLong`]; a longer one that comes is dropped |
//! | frames that wait for the line | 1 | [`ChannelError::Full`] |
//! | bytes read by one poll | 4096 | the others wait in the stream, or are lost there |

mod cobs;

use crate::ContiguousFrame;
use cobs::{Decoder, END, Encoder};
use crc::{CRC_32_ISCSI, Crc};
use heapless::Vec;
use pombo_kernel::channel::{ChannelError, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{MIN_MTU, Network};

/// Bytes out and bytes in, and what time it is: a UART, a pipe. Errors are [`ChannelError::Device`].
///
/// Whoever has the traits of `embedded-io` asks `read_ready` and `write_ready` first and then calls `read` and `write`.
pub trait ByteStream: 'static {
    /// Reads what has come, without waiting. Returns how many bytes; 0: none has.
    ///
    /// # Errors
    /// The device failed.
    fn read(&mut self, into: &mut [u8]) -> Result<usize, ChannelError>;

    /// Writes as many of these bytes as there is room for, without waiting. Returns how many.
    ///
    /// # Errors
    /// The device failed.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ChannelError>;

    /// Nanoseconds on a clock that never goes back, from an arbitrary start.
    fn now(&self) -> u64;

    /// As [`Network::wait`]: may sleep until bytes may have come, there may be room if the last [`ByteStream::write`]
    /// took fewer than it was given, or [`ByteStream::now`] has reached `until`. Spins unless the machine can sleep.
    ///
    /// # Errors
    /// The device failed.
    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        let _ = (idle, until);
        core::hint::spin_loop();
        Ok(())
    }
}

/// One end of a serial line. Frames have at most `N` - 4 bytes. A frame to this end itself is lost:
/// [`Reliable`](crate::Reliable) gives none to a network.
///
/// ```
/// # use pombo_kernel::{ChannelError, Peer};
/// # use pombo_transport::reliable::{Reliable, Timing, Window};
/// # use pombo_transport::serial_line::{ByteStream, SerialLine};
/// struct Uart; // Its registers.
///
/// impl ByteStream for Uart {
///     fn read(&mut self, into: &mut [u8]) -> Result<usize, ChannelError> {
///         Ok(0) // While the status says that a byte is there: the next one into its place.
///     }
///     fn write(&mut self, bytes: &[u8]) -> Result<usize, ChannelError> {
///         Ok(bytes.len()) // While the status says that there is room: the next one.
///     }
///     fn now(&self) -> u64 {
///         0 // Of the machine's counter.
///     }
/// }
///
/// let line = SerialLine::<_, 512>::new(Uart, Peer(0))?;
/// // Frames never overtake each other here. 512 bytes take 45 ms at 115200 baud.
/// let timing = Timing { first: 200_000_000, most: 1_000_000_000, overtakers: 1, ..Timing::default() };
/// let channel = Reliable::<_, Window<2, 4, 512>>::with(line, 0x5eed, timing);
/// # assert!(channel.is_ok());
/// # Ok::<(), ChannelError>(())
/// ```
pub struct SerialLine<L: ByteStream, const N: usize = 512> {
    line: L,
    me: Peer,
    /// The frame that leaves, with its CRC.
    tx: Vec<u8, N>,
    encoder: Encoder,
    /// Of it what the line gets next, and how many bytes it has taken.
    encoded: Vec<u8, CHUNK>,
    written: usize,
    rx: Decoder<N>,
    damaged: u64,
}

/// Bytes that are read or written at once.
const CHUNK: usize = 64;
/// Chunks read by one poll.
const BATCH: usize = 64;
/// Bytes of the CRC behind each frame.
const CHECK: usize = 4;
const PEERS: usize = 2;

/// CRC-32C: of 32 bits the one that tells most changed bits of frames as long as these. Its table has 1 KiB.
static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

fn crc(sender: Peer, frame: &[u8]) -> [u8; CHECK] {
    let mut digest = CRC.digest();
    digest.update(&sender.0.to_le_bytes());
    digest.update(frame);
    digest.finalize().to_le_bytes()
}

impl<L: ByteStream, const N: usize> SerialLine<L, N> {
    /// The end of that number, 0 or 1; who is at the other end takes the other one, and the same `N`.
    ///
    /// # Errors
    /// [`ChannelError::NoSuchPeer`]: a line has two ends.
    pub fn new(line: L, me: Peer) -> Result<Self, ChannelError> {
        const { assert!(N >= MIN_MTU + CHECK && N <= u16::MAX as usize) };
        if me.index() >= PEERS {
            return Err(ChannelError::NoSuchPeer(me));
        }
        Ok(SerialLine {
            line,
            me,
            tx: Vec::new(),
            encoder: Encoder::default(),
            encoded: Vec::new(),
            written: 0,
            rx: Decoder::default(),
            damaged: 0,
        })
    }

    /// The stream below.
    pub fn stream(&self) -> &L {
        &self.line
    }

    /// Frames that came and were dropped, because bytes of them were lost, changed, or too many.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Gives the line what it takes. Returns whether the frame has left.
    fn flush(&mut self) -> Result<bool, ChannelError> {
        loop {
            while let Some(rest @ [_, ..]) = self.encoded.get(self.written..) {
                match self.line.write(rest)? {
                    0 => return Ok(false),
                    count => self.written += count,
                }
            }
            self.encoded.clear();
            self.written = 0;
            while !self.encoded.is_full()
                && let Some(byte) = self.encoder.next(&self.tx)
            {
                // It has room.
                let _ = self.encoded.push(byte);
            }
            if self.encoded.is_empty() {
                return Ok(true);
            }
        }
    }
}

/// What stands in front of its CRC, if that is right.
fn checked(sender: Peer, frame: &[u8]) -> Option<&[u8]> {
    let (frame, check) = frame.split_last_chunk()?;
    (crc(sender, frame) == *check).then_some(frame)
}

impl<L: ByteStream, const N: usize> Network for SerialLine<L, N> {
    type Frame<'a> = ContiguousFrame<'a>;

    fn me(&self) -> Peer {
        self.me
    }

    fn peers(&self) -> usize {
        PEERS
    }

    fn is_checked(&self) -> bool {
        true
    }

    fn mtu(&self) -> usize {
        N - CHECK
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let (limit, total) = (self.mtu(), Part::total(parts));
        if to.index() >= PEERS {
            return Err(ChannelError::NoSuchPeer(to));
        }
        if total > limit {
            return Err(ChannelError::TooLong { limit });
        }
        if !self.flush()? {
            return Err(ChannelError::Full);
        }
        if to == self.me {
            return Ok(());
        }
        self.tx.clear();
        for part in parts {
            let at = self.tx.len();
            let room = self.tx.resize(at + part.len(), 0).ok();
            let place = room.and_then(|()| self.tx.get_mut(at..));
            part.copy_to(0, place.ok_or(ChannelError::TooLong { limit })?);
        }
        let check = crc(self.me, &self.tx);
        let fits = self.tx.extend_from_slice(&check);
        fits.map_err(|_| ChannelError::TooLong { limit })?;
        self.encoder = Encoder::begin();
        // What noise has left on the line before it ends here.
        let _ = self.encoded.push(END);
        self.flush().map(|_| ())
    }

    fn set_corked(&mut self, _on: bool) {}

    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        self.flush()?;
        let sender = Peer(1 - self.me.0);
        let (mut any, mut chunk) = (false, [0; CHUNK]);
        for _ in 0..BATCH {
            let count = self.line.read(&mut chunk)?;
            for byte in chunk.iter().take(count) {
                if *byte != END {
                    self.rx.take(*byte);
                    continue;
                }
                match self.rx.frame().and_then(|frame| checked(sender, frame)) {
                    Some(frame) => {
                        any = true;
                        f(ContiguousFrame::new(sender, frame));
                    }
                    None => self.damaged += u64::from(!self.rx.is_empty()),
                }
                self.rx.clear();
            }
            if count == 0 {
                break;
            }
        }
        Ok(any)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        self.flush()?;
        self.line.wait(idle, until)
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        None
    }

    fn now(&self) -> u64 {
        self.line.now()
    }
}
