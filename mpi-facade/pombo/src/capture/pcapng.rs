//! Files of captured frames in pcapng, the format of Wireshark and tcpdump. Only `capture` uses it.
//!
//! Hand-written, because only three kinds of blocks are needed, and the crate for the format (pcap-file) needs
//! `byteorder` with the standard library, which Cargo would then give to the C library of the same build too. The
//! writer makes one section and one Ethernet interface with times in nanoseconds. The reader accepts any number of
//! both, in either byte order, and skips unknown blocks.

use std::io::{self, Read, Write};

/// Writes a file. The caller flushes it at the end.
pub(super) struct Writer<W>(W);

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const SIMPLE: u32 = 3;
const PACKET: u32 = 6;
const MAGIC: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;
/// The option `if_tsresol`, and its value for nanoseconds.
const RESOLUTION: u16 = 9;
const NANOSECONDS: u8 = 9;
/// The resolution of interfaces without that option.
const MICROSECONDS: u8 = 6;
/// The longest block, in bytes, that is read: more than any frame has.
const LONGEST: usize = 1 << 20;

impl<W: Write> Writer<W> {
    pub(super) fn new(to: W) -> io::Result<Self> {
        let mut writer = Writer(to);
        let version = [1_u16, 0].map(u16::to_le_bytes).concat();
        let unknown_length = u64::MAX.to_le_bytes();
        writer.block(SECTION, &[&MAGIC.to_le_bytes(), &version, &unknown_length])?;
        let option = |number: u16, len: u16| [number, len].map(u16::to_le_bytes).concat();
        let link = [ETHERNET, 0].map(u16::to_le_bytes).concat();
        let any_length = [0; 4];
        let resolution = [&option(RESOLUTION, 1)[..], &[NANOSECONDS, 0, 0, 0]].concat();
        let end = option(0, 0);
        writer.block(INTERFACE, &[&link, &any_length, &resolution, &end])?;
        Ok(writer)
    }

    /// Writes a frame of `len` bytes, of which `bytes` were captured; `time` is in nanoseconds since 1970.
    pub(super) fn frame(&mut self, time: u64, len: usize, bytes: &[u8]) -> io::Result<()> {
        let numbers = [
            0,
            (time >> 32) as u32,
            time as u32,
            bytes.len() as u32,
            len as u32,
        ];
        self.block(PACKET, &[&numbers.map(u32::to_le_bytes).concat(), bytes])
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    /// Writes a block: its kind, its length before and behind the body, and the body padded to a multiple of four
    /// bytes.
    fn block(&mut self, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let fill = len.next_multiple_of(4) - len;
        let all = ((12 + len + fill) as u32).to_le_bytes();
        self.0.write_all(&kind.to_le_bytes())?;
        self.0.write_all(&all)?;
        for part in parts {
            self.0.write_all(part)?;
        }
        self.0.write_all(&[0; 4][..fill])?;
        self.0.write_all(&all)
    }
}

/// Reads a file.
pub(super) struct Reader<R> {
    from: R,
    big_endian: bool,
    /// Link type and time resolution of the section's interfaces.
    interfaces: Vec<(u16, u8)>,
    begun: bool,
    body: Vec<u8>,
}

/// A frame from a file.
pub(super) struct Stored<'a> {
    /// Nanoseconds since 1970; 0 if the file has no time.
    pub(super) time: u64,
    pub(super) bytes: &'a [u8],
}

impl<R: Read> Reader<R> {
    pub(super) fn new(from: R) -> Self {
        Reader {
            from,
            big_endian: false,
            interfaces: Vec::new(),
            begun: false,
            body: Vec::new(),
        }
    }

    /// Returns the next Ethernet frame.
    pub(super) fn next(&mut self) -> io::Result<Option<Stored<'_>>> {
        while let Some(kind) = self.block()? {
            let found = match kind {
                PACKET => Some(self.packet().ok_or_else(wrong)?),
                SIMPLE => Some((0, self.simple().ok_or_else(wrong)?, 0)),
                INTERFACE => {
                    let interface = self.interface().ok_or_else(wrong)?;
                    self.interfaces.push(interface);
                    None
                }
                _ => None,
            };
            let Some((time, range, interface)) = found else {
                continue;
            };
            let &(link, unit) = self.interfaces.get(interface).ok_or_else(wrong)?;
            if link == ETHERNET {
                let bytes = self.body.get(range).ok_or_else(wrong)?;
                let time = nanoseconds(time, unit);
                return Ok(Some(Stored { time, bytes }));
            }
        }
        Ok(None)
    }

    /// Reads a block into `body` and returns its kind; `None` at the end of the file.
    fn block(&mut self) -> io::Result<Option<u32>> {
        let mut head = [0; 8];
        if !self.fill(&mut head)? {
            return if self.begun { Ok(None) } else { Err(wrong()) };
        }
        let [kind, len] = [&head[..4], &head[4..]].map(|four| self.word(four));
        let mut magic = [0; 4];
        let mut announced_len = 8;
        let mut len = len;
        if kind == Some(SECTION) {
            if !self.fill(&mut magic)? {
                return Err(wrong());
            }
            self.big_endian = match magic {
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                _ => return Err(wrong()),
            };
            self.interfaces.clear();
            (self.begun, announced_len) = (true, 12);
            len = self.word(&head[4..]);
        }
        let len = len.ok_or_else(wrong)? as usize;
        if !self.begun || len < announced_len + 4 || len > LONGEST || !len.is_multiple_of(4) {
            return Err(wrong());
        }
        let mut body = std::mem::take(&mut self.body);
        body.resize(len - announced_len, 0);
        let whole = self.fill(&mut body)?;
        body.truncate(len - announced_len - 4);
        self.body = body;
        match whole {
            true => Ok(kind),
            false => Err(wrong()),
        }
    }

    /// Fills the buffer. Returns false at the end of the file; a part of the buffer is an error.
    fn fill(&mut self, room: &mut [u8]) -> io::Result<bool> {
        let mut filled = 0;
        while filled < room.len() {
            match self.from.read(&mut room[filled..]) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => return Err(wrong()),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn packet(&self) -> Option<(u64, std::ops::Range<usize>, usize)> {
        let word = |at: usize| self.word(self.body.get(at..)?);
        let time = u64::from(word(4)?) << 32 | u64::from(word(8)?);
        let len = word(12)? as usize;
        Some((time, 20..20_usize.checked_add(len)?, word(0)? as usize))
    }

    /// Returns the bytes of a simple packet block, which has the original length only: at most all bytes of the block.
    fn simple(&self) -> Option<std::ops::Range<usize>> {
        let len = self.word(&self.body)? as usize;
        Some(4..self.body.len().min(4_usize.checked_add(len)?))
    }

    fn interface(&self) -> Option<(u16, u8)> {
        let link = self.half(&self.body)?;
        let mut options = self.body.get(8..)?;
        let mut unit = MICROSECONDS;
        while let Some((head, rest)) = options.split_first_chunk::<4>() {
            let (number, len) = (self.half(head)?, self.half(&head[2..])?);
            if number == RESOLUTION {
                unit = *rest.first()?;
            }
            let next = usize::from(len).next_multiple_of(4);
            options = rest.get(next..).unwrap_or_default();
        }
        Some((link, unit))
    }

    fn word(&self, from: &[u8]) -> Option<u32> {
        let bytes = *from.first_chunk()?;
        Some(match self.big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    fn half(&self, from: &[u8]) -> Option<u16> {
        let bytes = *from.first_chunk()?;
        Some(match self.big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        })
    }
}

/// Converts a time to nanoseconds. A unit is a power of ten, or of two if its highest bit is set.
fn nanoseconds(time: u64, unit: u8) -> u64 {
    let power = u32::from(unit & 0x7f);
    let base: u128 = if unit & 0x80 == 0 { 10 } else { 2 };
    let second = base.checked_pow(power).unwrap_or(u128::MAX);
    (u128::from(time) * 1_000_000_000 / second) as u64
}

fn wrong() -> io::Error {
    let how = "it is not a pcapng file, or is cut off; capinfos tells what it is, editcap -F pcapng converts others";
    io::Error::new(io::ErrorKind::InvalidData, how)
}

#[cfg(test)]
#[path = "pcapng_tests.rs"]
mod tests;
