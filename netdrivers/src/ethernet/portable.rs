//! The line of `pnet`, which other systems have as well: one frame to a call, in one piece. Tests hold it beside the
//! system's own calls.
//!
//! Its socket is one of ours, handed over: what `pnet` opens by itself hears everybody's frames and has a small buffer.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use std::io::{Error, ErrorKind};

use super::device::Ethernet;
use super::error::EthernetError;
use super::frame::{ETHER, ETHER_TYPE, Head, Seat};
use super::interface;
use super::lent;
use super::line::Line;
use super::opened::Opened;
use super::pace::OVERHEAD;
use super::ring::BATCH;
use super::socket::Socket;
use pnet_datalink::{Channel, ChannelType, Config, DataLinkReceiver, DataLinkSender};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Two channels of `pnet`: out, and to this host.
pub struct Portable {
    ways: [Way; 2],
    frame: Vec<u8>,
    room: usize,
}

struct Way {
    sender: Box<dyn DataLinkSender>,
    receiver: Box<dyn DataLinkReceiver>,
    /// The same socket, for what `pnet` does not ask it.
    socket: Socket,
}

impl Ethernet<Portable> {
    /// As [`Ethernet::open`], through `pnet`.
    ///
    /// # Errors
    /// As [`Ethernet::open`].
    pub fn open_portable(name: &str, seat: Seat) -> Result<Opened<Portable>, EthernetError> {
        let at = interface::find(name)?;
        Opened::new(name, seat, |socket, [out, here], mtu| {
            let beside = lent::socket(seat, &at, here)?;
            let (granted, _) = socket.buffers()?;
            Ok(Portable {
                ways: [Way::new(socket, out, mtu)?, Way::new(beside, here, mtu)?],
                frame: Vec::with_capacity(mtu + ETHER),
                room: granted / (mtu + OVERHEAD),
            })
        })
    }
}

impl Way {
    fn new(socket: Socket, index: i32, mtu: usize) -> Result<Self, EthernetError> {
        let watched = socket.again()?;
        let failed = |error: Error| EthernetError::System {
            call: "pnet",
            errno: error.raw_os_error().unwrap_or(0),
        };
        let mut all = pnet_datalink::interfaces().into_iter();
        let found = all.find(|one| one.index == index as u32);
        let at = found.ok_or_else(|| failed(Error::from_raw_os_error(libc::ENODEV)))?;
        let config = Config {
            // Room for a tag of a virtual network.
            read_buffer_size: mtu + ETHER + 4,
            read_timeout: Some(Duration::ZERO),
            write_timeout: Some(Duration::ZERO),
            channel_type: ChannelType::Layer3(ETHER_TYPE),
            promiscuous: false,
            // From here on it is closed by pnet, also if this fails.
            socket_fd: Some(socket.give()),
            ..Config::default()
        };
        match pnet_datalink::channel(&at, config).map_err(failed)? {
            Channel::Ethernet(sender, receiver) => Ok(Way {
                sender,
                receiver,
                socket: watched,
            }),
            _ => Err(failed(Error::from_raw_os_error(libc::EPROTONOSUPPORT))),
        }
    }

    /// Nothing now, for a reason that may pass; or the device has failed.
    fn passes(&self, error: &Error) -> Result<(), ChannelError> {
        use ErrorKind::{Interrupted, TimedOut, WouldBlock};
        if [Interrupted, TimedOut, WouldBlock].contains(&error.kind()) {
            return Ok(());
        }
        // It does not tell an error of the socket, nor clear it.
        let number = error.raw_os_error().or(self.socket.error());
        match number {
            None | Some(0 | libc::ENETDOWN | libc::ENOMEM) => Ok(()),
            Some(number) => Err(ChannelError::Device(number)),
        }
    }
}

impl Line for Portable {
    fn send(&mut self, here: bool, head: &Head, parts: &[Part<'_>]) -> Result<bool, ChannelError> {
        self.frame.clear();
        self.frame.extend_from_slice(head);
        for part in parts {
            let start = self.frame.len();
            self.frame.resize(start + part.len(), 0);
            part.copy_to(0, &mut self.frame[start..]);
        }
        let way = &mut self.ways[usize::from(here)];
        loop {
            let error = match way.sender.send_to(&self.frame, None) {
                Some(Err(error)) => error,
                _ => return Ok(true),
            };
            match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::TimedOut | ErrorKind::WouldBlock => return Err(ChannelError::Full),
                _ if error.raw_os_error() == Some(libc::ENOBUFS) => return Err(ChannelError::Full),
                _ => return way.passes(&error).map(|()| false),
            }
        }
    }

    fn poll(&mut self, mut f: impl FnMut(&[u8])) -> Result<(), ChannelError> {
        for way in &mut self.ways {
            for _ in 0..BATCH {
                match way.receiver.next() {
                    Ok(bytes) => f(bytes),
                    Err(error) => {
                        way.passes(&error)?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn descriptors(&self) -> [i32; 2] {
        [&self.ways[0], &self.ways[1]].map(|way| way.socket.number())
    }

    fn room(&self) -> usize {
        self.room
    }

    fn dropped(&self) -> u64 {
        self.ways.iter().map(|way| way.socket.dropped()).sum()
    }
}
