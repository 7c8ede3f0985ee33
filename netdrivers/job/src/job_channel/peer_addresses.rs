//! The published addresses of ranks on other hosts. Only `job_channel` uses it.

use crate::bootstrap::{Block, JobError, RawUnavailable};
use crate::settings::whole;
use alloc::boxed::Box;
use core::net::SocketAddr;
use pombo_kernel::text::fields;
use pombo_netdrivers::ethernet::Address;
use pombo_netdrivers::ip_text::parse_ip;

/// The addresses of another rank.
pub(super) struct RemoteAddresses {
    /// The word of the key agreement, which is published with the addresses.
    pub(super) word: Block,
    pub(super) frames: SocketAddr,
    pub(super) listener: SocketAddr,
    /// Size in bytes of a UDP frame that its interface carries.
    pub(super) mtu: usize,
    /// Its Ethernet address, if it can send raw frames.
    pub(super) raw: Result<Address, RawUnavailable>,
}

impl RemoteAddresses {
    pub(super) fn read(rank: usize, text: &str) -> Result<Self, Box<JobError>> {
        let parse = || {
            let mut fields = fields(text, b'/');
            let word = Block::read(fields.next()?)?;
            let ip = parse_ip(fields.next()?)?;
            let mut port = || u16::try_from(whole(fields.next()?.as_bytes())?).ok();
            let (frames, listener) = (port()?, port()?);
            let mtu = whole(fields.next()?.as_bytes())?;
            let raw = fields.rest()?;
            let raw = match RawUnavailable::read(raw) {
                Some(why) => Err(why),
                None => Ok(raw.parse().ok()?),
            };
            Some(RemoteAddresses {
                word,
                frames: SocketAddr::new(ip, frames),
                listener: SocketAddr::new(ip, listener),
                mtu,
                raw,
            })
        };
        parse().ok_or_else(|| JobError::card(rank, text))
    }
}
