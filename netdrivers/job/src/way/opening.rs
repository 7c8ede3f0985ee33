//! How a rank comes onto the network between hosts: it opens its sockets, the launcher carries all addresses round, and
//! then it joins. `join` only.

use super::address::choose;
use super::addresses::Addresses;
use super::far::Far;
use super::link::{Device, Link};
use super::loss::Loss;
use super::segment::{self, refuse};
use super::vigil::Door;
use crate::hosts::Hosts;
use crate::output::Line as Told;
use crate::place::Launcher;
use crate::place::Word;
use crate::place::{Block, Job, JobError, Links, Met, Net, Seal, Why, read};
use crate::settings;
use alloc::vec::Vec;
use core::net::IpAddr;
use pombo_kernel::Network;
use pombo_netdrivers::ethernet::{Opened, Traffic};
use pombo_netdrivers::udp::{Bound, Udp};

/// A rank with sockets, which does not know the others yet.
struct Opening {
    ip: IpAddr,
    /// Not where only raw Ethernet will do.
    udp: Option<Bound>,
    /// If it fails, the others are to hear of it: none of them waits then, and all can name the rank.
    raw: Result<Opened, JobError>,
    door: Door,
}

/// Bytes of a frame over UDP, at most: what every network carries. The system cuts and joins such frames by itself, so
/// longer ones bring little, and one that a switch does not carry never arrives.
const DATAGRAM: usize = 1472;

/// The network between hosts, and what is to be told of it.
pub(super) fn open<const RANKS: usize>(
    met: &Met,
    hosts: &Hosts,
    links: Links,
    launcher: &mut Launcher,
) -> Result<(Far<RANKS>, Told), JobError> {
    let opening = Opening::new(met, hosts)?;
    let all = launcher.exchange("pombo-at", &opening.text(links.word()))?;
    let all = read(&all, Addresses::read)?;
    let words: Vec<_> = all.iter().map(|at| at.word).collect();
    let job = Job {
        name: met.job,
        key: links.key(&words)?,
    };
    opening.join((met, hosts), job, &all, launcher)
}

impl Opening {
    fn new(met: &Met, hosts: &Hosts) -> Result<Self, JobError> {
        let (ip, who) = (place(met, hosts.count())?, (met.job.id, met.me));
        let raw = match met.net {
            Net::Ethernet { by } => segment::open(by, who, Traffic::Single),
            Net::Auto => segment::open_at(ip, who),
            _ => Err(refuse(met.me.index(), Why::NotAsked)),
        };
        let udp = match met.net {
            Net::Ethernet { .. } => None,
            _ => Some(Udp::bind(ip)?),
        };
        Ok(Opening {
            ip,
            udp,
            raw,
            door: Door::open(ip)?,
        })
    }

    /// To be published: a word of the agreement on a key, an IP address, two ports, what UDP carries, and an address of Ethernet or why there is none.
    fn text(&self, word: Block) -> Word {
        let udp = self.udp.as_ref();
        let (udp, mtu) = udp.map_or((0, 0), |bound| (bound.address().port(), bound.mtu()));
        let (ip, door) = (self.ip, self.door.address().port());
        match &self.raw {
            Ok(raw) => Word::of(format_args!(
                "{word}/{ip}/{udp}/{door}/{mtu}/{}",
                raw.address()
            )),
            Err(error) => {
                let why = Why::of(error).name();
                Word::of(format_args!("{word}/{ip}/{udp}/{door}/{mtu}/{why}"))
            }
        }
    }

    #[inline(never)]
    fn join<const RANKS: usize>(
        self,
        (met, hosts): (&Met, &Hosts),
        job: Job,
        all: &[Addresses],
        launcher: &mut Launcher,
    ) -> Result<(Far<RANKS>, Told), JobError> {
        let timeout = settings::HOST_TIMEOUT.number()? as u32;
        let loss = Loss::read()?;
        let raw = match (self.raw, &self.udp) {
            // It can say more than the others.
            (Err(error), None) => return Err(error),
            (raw, _) => segment::join(raw, (met, hosts), all, launcher),
        };
        // All ranks come to the same answer.
        let (device, told) = match (raw, self.udp) {
            (Ok(device), _) => {
                let (interface, bytes) = (device.interface(), device.mtu());
                let told = Told::of(format_args!(
                    "raw Ethernet on {interface}, {bytes} bytes to a frame"
                ));
                (Device::Ethernet(device), told)
            }
            (Err(why), None) => return Err(why),
            (Err(why), Some(mut bound)) => {
                let told = match met.net {
                    Net::Auto => Told::of(format_args!("UDP at {}: {why}", self.ip)),
                    _ => Told::of(format_args!("UDP at {}", self.ip)),
                };
                let mtus = all.iter().map(|at| at.mtu.min(DATAGRAM));
                bound.shorten(mtus.min().unwrap_or(0));
                let frames = all.iter().map(|at| at.frames).collect();
                let mut device = bound.join(met.me, frames)?;
                device.set_refused_limit(timeout);
                (Device::Udp(device), told)
            }
        };
        let doors: Vec<_> = all.iter().map(|at| at.door).collect();
        let near = |node| hosts.are_near(met.me, node);
        let vigil = self.door.meet(met.me, &doors, near, job, timeout)?;
        let link = Link::new(device, job.seal(Seal::Single)).map_err(pombo_kernel::Error::from)?;
        let far = Far::new(loss.over(link), vigil, (self.ip, timeout), job)?;
        Ok((far, told))
    }
}

/// This host's address: of frames where they are UDP's, and of the connections by which ranks learn who has gone.
fn place(met: &Met, hosts: usize) -> Result<IpAddr, JobError> {
    match met.net {
        Net::Udp { by: Some(by) } => choose(Some(by), hosts),
        // No interface is needed, and no wall stands in the way.
        _ if met.one_machine => Ok(IpAddr::from([127, 0, 0, 1])),
        Net::Ethernet { by } => {
            let ip = choose(Some(by), hosts).or_else(|_| choose(None, hosts));
            ip.map_err(|_| JobError::NoNetwork {
                hosts,
                why: "raw Ethernet needs IP beside it, by which ranks learn who has gone: give every host an address",
            })
        }
        _ => choose(None, hosts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn addresses_are_read_as_they_were_written() {
        let met = Met::for_tests(Net::Auto);
        let opening = Opening::new(&met, &Hosts::by(&[0, 1])).expect("every host has it");
        let word = Block([0xa5; 32]);
        let at = Addresses::read(3, opening.text(word).as_str()).expect("addresses");
        assert_eq!(at.word, word);
        let bound = opening.udp.as_ref().expect("a socket");
        assert_eq!(at.frames, bound.address());
        assert_eq!(at.door, opening.door.address());
        assert_eq!(at.raw, Err(Why::NoInterface));
        let raw = "02:00:00:00:00:01/1500";
        let at = Addresses::read(3, &format!("{word}/::1/1/2/1452/{raw}")).expect("addresses");
        assert_eq!(at.raw, Ok(raw.parse().expect("an address")));
        for text in [
            "",
            "127.0.0.1",
            "127.0.0.1/1/2",
            "127.0.0.1/1/2/1472",
            "127.0.0.1/1/2/1472/",
            "127.0.0.1/1/2/1472/none",
            "127.0.0.1/1/2/long/right",
            "127.0.0.1/1/2/1472/02:00:00:00:00:01",
            "127.0.0.1/1/65536/1472/right",
            "here/1/2/1472/right",
        ] {
            assert!(Addresses::read(3, text).is_err(), "{text}");
            let text = format!("{word}/{text}");
            assert!(Addresses::read(3, &text).is_err(), "{text}");
        }
    }
}
