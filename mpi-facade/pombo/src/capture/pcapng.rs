//! Files of captured frames, as Wireshark, tcpdump and others have them: pcapng. `capture` only.
//!
//! Written: one section, one Ethernet interface with times in nanoseconds. Read: any number of both, in either byte order;
//! unknown blocks are passed over.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};

/// Writes a file. At the end somebody has to flush it.
pub(super) struct Writer<W: Write>(PcapNgWriter<W>);

const NANOSECONDS: u8 = 9;
/// Where nothing is said.
const MICROSECONDS: u8 = 6;

impl<W: Write> Writer<W> {
    pub(super) fn new(to: W) -> io::Result<Self> {
        let mut writer = PcapNgWriter::with_endianness(to, Endianness::Little).map_err(system)?;
        let any_length = 0;
        let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, any_length);
        let resolution = InterfaceDescriptionOption::IfTsResol(NANOSECONDS);
        interface.options.push(resolution);
        writer.write_pcapng_block(interface).map_err(system)?;
        Ok(Writer(writer))
    }

    /// A frame of `len` bytes, of which these are there; the time in nanoseconds.
    pub(super) fn frame(&mut self, time: u64, len: usize, bytes: &[u8]) -> io::Result<()> {
        let packet = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(time),
            original_len: len as u32,
            data: Cow::Borrowed(bytes),
            options: Vec::new(),
        };
        self.0.write_pcapng_block(packet).map_err(system)?;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}

/// Reads a file.
pub(super) struct Reader<R: Read>(PcapNgReader<R>);

/// A frame in a file.
pub(super) struct Stored {
    /// Nanoseconds since 1970; 0: not told.
    pub(super) time: u64,
    pub(super) bytes: Vec<u8>,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(from: R) -> io::Result<Self> {
        Ok(Reader(PcapNgReader::new(from).map_err(system)?))
    }

    /// The next frame of Ethernet.
    pub(super) fn next(&mut self) -> io::Result<Option<Stored>> {
        while let Some(block) = self.0.next_block() {
            let (interface, time, bytes) = match block.map_err(system)? {
                Block::EnhancedPacket(packet) => (
                    packet.interface_id as usize,
                    packet.timestamp.as_nanos() as u64,
                    packet.data.into_owned(),
                ),
                Block::SimplePacket(packet) => {
                    // It says how long it was, not how much was kept.
                    let mut bytes = packet.data.into_owned();
                    bytes.truncate(packet.original_len as usize);
                    (0, 0, bytes)
                }
                _ => continue,
            };
            let interface = self.0.interfaces().get(interface).ok_or_else(wrong)?;
            if interface.linktype == DataLink::ETHERNET {
                let time = nanoseconds(time, unit(interface));
                return Ok(Some(Stored { time, bytes }));
            }
        }
        Ok(None)
    }
}

/// The unit of an interface's times. The library takes all for nanoseconds.
fn unit(interface: &InterfaceDescriptionBlock<'_>) -> u8 {
    let mut options = interface.options.iter();
    let told = options.find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(unit) => Some(*unit),
        _ => None,
    });
    told.unwrap_or(MICROSECONDS)
}

/// A unit is a power of ten, or with its highest bit of two.
fn nanoseconds(time: u64, unit: u8) -> u64 {
    let power = u32::from(unit & 0x7f);
    let base: u128 = if unit & 0x80 == 0 { 10 } else { 2 };
    let second = base.checked_pow(power).unwrap_or(u128::MAX);
    (u128::from(time) * 1_000_000_000 / second) as u64
}

/// An error of the system as it is; all else is a wrong file.
fn system(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) if error.kind() != io::ErrorKind::UnexpectedEof => error,
        _ => wrong(),
    }
}

fn wrong() -> io::Error {
    let how = "it is not a pcapng file, or is cut off; capinfos tells what it is, editcap -F pcapng converts others";
    io::Error::new(io::ErrorKind::InvalidData, how)
}

#[cfg(test)]
#[path = "pcapng_tests.rs"]
mod tests;
