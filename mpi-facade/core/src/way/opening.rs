//! How a rank comes onto the network between hosts: it opens its sockets, the launcher carries all addresses round, and
//! then it joins. `place` only.

use super::address::choose;
use super::far::Far;
use super::patient::Patient;
use super::vigil::Door;
use crate::environment::{number, text, wrong};
use crate::place::launcher::Word;
use crate::place::{Job, PlaceError};
use alloc::vec::Vec;
use core::net::SocketAddr;
use pombo_kernel::Node;
use pombo_netdrivers::udp::{Bound, Lossy, Udp};

/// A rank with sockets, which does not know the others yet.
pub(crate) struct Opening {
    bound: Bound,
    door: Door,
}

/// Where another rank is.
pub(crate) struct Addresses {
    frames: SocketAddr,
    door: SocketAddr,
}

impl Opening {
    /// At an address, an interface, or where it seems best.
    pub(crate) fn new(by: Option<&str>, hosts: usize) -> Result<Self, PlaceError> {
        let ip = choose(by, hosts)?;
        Ok(Opening {
            bound: Udp::bind(ip)?,
            door: Door::open(ip)?,
        })
    }

    /// To be published.
    pub(crate) fn text(&self) -> Word {
        Word::of(format_args!(
            "{}/{}",
            self.bound.address(),
            self.door.address()
        ))
    }

    /// Joins the ranks at these addresses. Those for which `is_near` holds are reached otherwise.
    #[inline(never)]
    pub(crate) fn join(
        self,
        me: Node,
        all: &[Addresses],
        is_near: impl Fn(Node) -> bool,
        job: Job,
    ) -> Result<Far, PlaceError> {
        let timeout = match number(c"POMBO_HOST_TIMEOUT")? {
            Some(seconds @ 1..=3600) => seconds as u32,
            None => 10,
            Some(_) => return Err(wrong(c"POMBO_HOST_TIMEOUT", "seconds from 1 to 3600")),
        };
        let (loss, seed) = loss()?;
        let doors: Vec<_> = all.iter().map(|at| at.door).collect();
        let vigil = self.door.meet(me, &doors, is_near, job.key, timeout)?;
        let address = self.bound.address().ip();
        let frames = all.iter().map(|at| at.frames).collect();
        let network = Lossy::new(Patient(self.bound.join(me, frames)?), loss, seed);
        let id = (address, job.key as u64);
        Ok(Far::new(network, vigil, job.epoch, id)?)
    }
}

impl Addresses {
    pub(crate) fn read(rank: usize, text: &str) -> Result<Self, PlaceError> {
        let pair = text.split_once('/');
        let pair = pair.and_then(|(frames, door)| Some((frames.parse().ok()?, door.parse().ok()?)));
        let (frames, door) = pair.ok_or_else(|| PlaceError::card(rank, text))?;
        Ok(Addresses { frames, door })
    }
}

/// `POMBO_LOSS`: arriving frames that are lost on purpose, in a million, and the seed that chooses them.
pub(crate) fn loss() -> Result<(u32, u64), PlaceError> {
    let Some(text) = text(c"POMBO_LOSS") else {
        return Ok((0, 0));
    };
    parse_loss(text).ok_or(wrong(
        c"POMBO_LOSS",
        "per cent with up to four decimals, such as 0.5 or 5, or with a seed behind it, as in 5:42",
    ))
}

fn parse_loss(text: &str) -> Option<(u32, u64)> {
    let (percent, seed) = text.split_once(':').unwrap_or((text, "1"));
    let (whole, decimals) = percent.split_once('.').unwrap_or((percent, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let none = whole.is_empty() && decimals.is_empty();
    if none || decimals.len() > 4 || !digits(decimals) || !digits(whole) {
        return None;
    }
    let number = |digits: &str| match digits {
        "" => Some(0),
        digits => digits.parse::<u32>().ok(),
    };
    let shift = 10_u32.pow(4 - decimals.len() as u32);
    let whole = number(whole)?.checked_mul(10_000)?;
    let parts = whole.checked_add(number(decimals)? * shift)?;
    (parts <= 1_000_000).then_some((parts, seed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_in_a_million() {
        for (text, loss) in [
            ("5", (50_000, 1)),
            ("0.01", (100, 1)),
            ("100:7", (1_000_000, 7)),
            (".5:0", (5_000, 0)),
        ] {
            assert_eq!(parse_loss(text), Some(loss), "{text}");
        }
        for text in ["", "101", "-1", "5:", "5:x", "0.00001", "1e1", "+5", "1.+5"] {
            assert_eq!(parse_loss(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_are_read_as_they_were_written() {
        let opening = Opening::new(Some("127.0.0.1"), 2).expect("every host has it");
        let at = Addresses::read(3, opening.text().as_str()).expect("two addresses");
        assert_eq!(at.frames, opening.bound.address());
        assert_eq!(at.door, opening.door.address());
        for text in ["", "127.0.0.1:1", "127.0.0.1:1/", "127.0.0.1/127.0.0.1:1"] {
            assert!(Addresses::read(3, text).is_err(), "{text}");
        }
    }
}
