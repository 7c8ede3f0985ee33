//! The interface of `pnet`, which other systems have as well: one contiguous frame per call. Whoever opens a device
//! chooses between it and the ring.
//!
//! Its socket is one of ours, passed to `pnet`: a socket that `pnet` opens receives every frame and has a small buffer.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use std::io::{Error, ErrorKind};

use super::error::EthernetError;
use super::frame_io::FrameIo;
use super::rx_ring::BATCH;
use super::send_queue_limit::OVERHEAD;
use super::socket::Socket;
use crate::ethernet_frame::{ETHER_TYPE, ETHERNET_HEADER_LEN, HeaderBytes};
use pnet_datalink::{Channel, ChannelType, Config, DataLinkReceiver, DataLinkSender};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Two channels of `pnet`: to the network, and to this host.
pub struct Pnet {
    sockets: [PnetSocket; 2],
    frame: Vec<u8>,
    room: usize,
}

struct PnetSocket {
    sender: Box<dyn DataLinkSender>,
    receiver: Box<dyn DataLinkReceiver>,
    /// The same socket, for options that `pnet` does not offer.
    socket: Socket,
}

impl Pnet {
    /// Over sockets of ours for those interfaces.
    pub(super) fn new(
        [out, local]: [Socket; 2],
        [interface, loopback]: [i32; 2],
        mtu: usize,
    ) -> Result<Self, Box<EthernetError>> {
        let (granted, _) = out.buffer_sizes()?;
        Ok(Pnet {
            sockets: [
                PnetSocket::new(out, interface, mtu)?,
                PnetSocket::new(local, loopback, mtu)?,
            ],
            frame: Vec::with_capacity(mtu + ETHERNET_HEADER_LEN),
            room: granted / (mtu + OVERHEAD),
        })
    }
}

impl PnetSocket {
    fn new(socket: Socket, index: i32, mtu: usize) -> Result<Self, Box<EthernetError>> {
        let watched = socket.try_clone()?;
        let failed = |error: Error| EthernetError::System {
            call: "pnet",
            errno: error.raw_os_error().unwrap_or(0),
        };
        let mut all = pnet_datalink::interfaces().into_iter();
        let found = all.find(|one| one.index == index as u32);
        let at = found.ok_or_else(|| failed(Error::from_raw_os_error(libc::ENODEV)))?;
        let config = Config {
            // Space for a VLAN tag.
            read_buffer_size: mtu + ETHERNET_HEADER_LEN + 4,
            read_timeout: Some(Duration::ZERO),
            write_timeout: Some(Duration::ZERO),
            channel_type: ChannelType::Layer3(ETHER_TYPE),
            promiscuous: false,
            // From here on `pnet` closes the socket, also if this call fails.
            socket_fd: Some(socket.into_fd()),
            ..Config::default()
        };
        match pnet_datalink::channel(&at, config).map_err(failed)? {
            Channel::Ethernet(sender, receiver) => Ok(PnetSocket {
                sender,
                receiver,
                socket: watched,
            }),
            _ => Err(failed(Error::from_raw_os_error(libc::EPROTONOSUPPORT)).into()),
        }
    }

    /// Returns an error of the device; a transient error means that there is nothing now.
    fn check_transient(&self, error: &Error) -> Result<(), ChannelError> {
        use ErrorKind::{Interrupted, TimedOut, WouldBlock};
        if [Interrupted, TimedOut, WouldBlock].contains(&error.kind()) {
            return Ok(());
        }
        // `pnet` neither reports nor clears an error of the socket.
        let number = error.raw_os_error().or(self.socket.error());
        match number {
            None | Some(0 | libc::ENETDOWN | libc::ENOMEM) => Ok(()),
            Some(number) => Err(ChannelError::Device(number)),
        }
    }
}

impl FrameIo for Pnet {
    fn send(
        &mut self,
        local: bool,
        head: &HeaderBytes,
        parts: &[Part<'_>],
    ) -> Result<bool, ChannelError> {
        self.frame.clear();
        self.frame.extend_from_slice(head);
        for part in parts {
            let start = self.frame.len();
            self.frame.resize(start + part.len(), 0);
            part.copy_to(0, &mut self.frame[start..]);
        }
        let pnet_socket = &mut self.sockets[usize::from(local)];
        loop {
            let error = match pnet_socket.sender.send_to(&self.frame, None) {
                Some(Err(error)) => error,
                _ => return Ok(true),
            };
            match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::TimedOut | ErrorKind::WouldBlock => return Err(ChannelError::Full),
                _ if error.raw_os_error() == Some(libc::ENOBUFS) => return Err(ChannelError::Full),
                _ => return pnet_socket.check_transient(&error).map(|()| false),
            }
        }
    }

    fn poll(&mut self, mut f: impl FnMut(&[u8])) -> Result<(), ChannelError> {
        for pnet_socket in &mut self.sockets {
            for _ in 0..BATCH {
                match pnet_socket.receiver.next() {
                    Ok(bytes) => f(bytes),
                    Err(error) => {
                        pnet_socket.check_transient(&error)?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn fds(&self) -> [i32; 2] {
        [&self.sockets[0], &self.sockets[1]].map(|pnet_socket| pnet_socket.socket.fd())
    }

    fn rx_slots(&self) -> usize {
        self.room
    }

    fn dropped(&self) -> u64 {
        self.sockets
            .iter()
            .map(|pnet_socket| pnet_socket.socket.dropped())
            .sum()
    }
}
