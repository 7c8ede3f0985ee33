//! Where the ranks of other hosts are, as they tell it. `job_channel` only.

use crate::bootstrap::{Block, JobError, RawUnavailable};
use core::net::{IpAddr, SocketAddr};
use pombo_netdrivers::ethernet::Address;

/// Where another rank is.
pub(super) struct RemoteAddresses {
    /// Not an address, but it comes with them.
    pub(super) word: Block,
    pub(super) frames: SocketAddr,
    pub(super) listener: SocketAddr,
    /// Bytes of a frame over UDP that its interface carries.
    pub(super) mtu: usize,
    /// On its segment, if it can send raw frames.
    pub(super) raw: Result<Address, RawUnavailable>,
}

impl RemoteAddresses {
    pub(super) fn read(rank: usize, text: &str) -> Result<Self, JobError> {
        let parse = || {
            let mut fields = text.splitn(6, '/');
            let word = Block::read(fields.next()?)?;
            let ip: IpAddr = fields.next()?.parse().ok()?;
            let mut port = || fields.next()?.parse().ok();
            let (frames, listener) = (port()?, port()?);
            let mtu = fields.next()?.parse().ok()?;
            let raw = fields.next()?;
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
