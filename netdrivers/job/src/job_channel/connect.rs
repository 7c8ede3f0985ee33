//! Connects a rank to the network between hosts: it opens its sockets, the launcher exchanges all addresses, and then
//! it joins. Only `join` uses it.

use super::bulk::Bulk;
use super::failure_detector::Listener;
use super::injected_loss::Loss;
use super::inter_host::InterHost;
use super::link::{Device, Link};
use super::local_address::choose;
use super::peer_addresses::RemoteAddresses;
use super::raw_ethernet::{self, TrialDevice, refuse};
use crate::bootstrap::ExchangedText;
use crate::bootstrap::Launcher;
use crate::bootstrap::{
    Block, JobError, JobInfo, JobKeys, KeyUse, Net, RawUnavailable, RingKeys, read,
};
use crate::fixed_string::text;
use crate::host_map::Hosts;
use crate::log::LogLine as Description;
use crate::settings;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::IpAddr;
use pombo_kernel::text::fill;
use pombo_kernel::{Network, Peer};
use pombo_netdrivers::ethernet::{BoundEthernet, EthernetAndUdp, Traffic};
use pombo_netdrivers::ip_text::IpText;
use pombo_netdrivers::udp::{BoundUdp, Udp};

/// A rank's sockets, before it knows the addresses of the others.
struct LocalSockets {
    ip: IpAddr,
    /// The UDP socket; `None` if the user requires raw Ethernet.
    udp: Option<BoundUdp>,
    /// The raw Ethernet device. An error is published to the others: then none of them waits, and all can name the
    /// rank.
    raw: Result<BoundEthernet, Box<JobError>>,
    by_pnet: bool,
    listener: Listener,
}

/// Largest size in bytes of a frame over UDP: every network carries it. The system fragments and reassembles longer
/// ones, so they gain little, and one that a switch does not carry never arrives.
const DATAGRAM: usize = 1472;

/// Returns the network between hosts, and a description of it for the log.
pub(super) fn open<const RANKS: usize>(
    info: &JobInfo,
    hosts: &Hosts,
    ring_keys: RingKeys,
    launcher: &mut Launcher,
) -> Result<(InterHost<RANKS>, Description), Box<JobError>> {
    let opening = LocalSockets::new(info, hosts)?;
    let all = launcher.exchange("pombo-at", &opening.text(ring_keys.share()))?;
    let all = read(&all, RemoteAddresses::read)?;
    let shares: Vec<_> = all.iter().map(|at| at.word).collect();
    let job = JobKeys {
        name: info.job,
        key: ring_keys.key(&shares)?,
    };
    opening.join((info, hosts), job, &all, launcher)
}

impl LocalSockets {
    fn new(info: &JobInfo, hosts: &Hosts) -> Result<Self, Box<JobError>> {
        let by_pnet = raw_ethernet::is_by_pnet()?;
        let (ip, who) = (place(info, hosts.count())?, (info.job.id, info.me));
        let raw = match info.net {
            Net::Ethernet { by } => raw_ethernet::open(by, who, Traffic::Unicast),
            Net::Auto => raw_ethernet::open_at(ip, who),
            _ => Err(refuse(info.me.index(), RawUnavailable::NotAsked)),
        };
        let udp = match info.net {
            Net::Ethernet { .. } => None,
            _ => Some(Udp::bind(ip)?),
        };
        Ok(LocalSockets {
            ip,
            udp,
            raw,
            by_pnet,
            listener: Listener::open(ip)?,
        })
    }

    /// Returns the text to be published: the word of the key agreement, an IP address, two ports, the MTU of UDP, and
    /// an Ethernet address or the reason why there is none.
    fn text(&self, word: Block) -> ExchangedText {
        let udp = self.udp.as_ref();
        let (udp, mtu) = udp.map_or((0, 0), |bound| (bound.address().port(), bound.mtu()));
        let (ip, listener) = (self.ip, self.listener.address().port());
        let ip = IpText(ip);
        let mut text = text!("{}/{}/{}/{}/{}/", word, ip, udp, listener, mtu);
        match &self.raw {
            Ok(raw) => fill!(&mut text, "{}", raw.address()),
            Err(error) => fill!(&mut text, "{}", RawUnavailable::of(error).name()),
        }
        text
    }

    #[inline(never)]
    fn join<const RANKS: usize>(
        self,
        (info, hosts): (&JobInfo, &Hosts),
        job: JobKeys,
        all: &[RemoteAddresses],
        launcher: &mut Launcher,
    ) -> Result<(InterHost<RANKS>, Description), Box<JobError>> {
        let timeout = settings::HOST_TIMEOUT.number()? as u32;
        let loss = Loss::read()?;
        // A rank that requires raw Ethernet has no port: then UDP is for none.
        let complete = all.iter().all(|at| at.frames.port() != 0);
        let required = complete || all.iter().any(|at| at.raw.is_err());
        let mut udp = match self.udp {
            Some(bound) if required => Some(join_udp(bound, info.me, all, timeout)?),
            _ => None,
        };
        let raw = match (self.raw, &mut udp) {
            // This error is more specific than that of the other ranks.
            (Err(error), None) => return Err(error),
            (raw, udp) => {
                let udp = udp.as_deref_mut().map(|udp| udp as &mut dyn TrialDevice);
                raw_ethernet::join(raw, udp, (info, hosts), all, launcher)
            }
        };
        // All ranks reach the same decision.
        let (device, description) = match (raw, udp) {
            (Ok((device, bulk)), udp) => {
                let interface = device.interface();
                let by = if self.by_pnet { " by pnet" } else { "" };
                let why = bulk.map_or("", Bulk::description);
                let taken = udp.filter(|_| bulk == Some(Bulk::Udp));
                let bytes = taken.as_ref().map_or(usize::MAX, |udp| udp.mtu());
                let bytes = device.mtu().min(bytes);
                let description = text!(
                    "raw Ethernet{} on {}, {} bytes to a frame{}",
                    by,
                    interface,
                    bytes,
                    why
                );
                let device = match taken {
                    Some(udp) => Device::Both(Box::new(EthernetAndUdp::new(*device, *udp))),
                    None => Device::Ethernet(*device),
                };
                (device, description)
            }
            (Err(why), None) => return Err(why),
            (Err(why), Some(device)) => {
                let description = match info.net {
                    Net::Auto => text!("UDP at {}: {}", IpText(self.ip), why),
                    _ => text!("UDP at {}", IpText(self.ip)),
                };
                (Device::Udp(*device), description)
            }
        };
        let listeners: Vec<_> = all.iter().map(|at| at.listener).collect();
        let near = |peer| hosts.share_host(info.me, peer);
        let mut failure_detector = self
            .listener
            .meet(info.me, &listeners, near, job, timeout)?;
        let first_place = all.len().saturating_sub(settings::spare_places());
        failure_detector.set_first_place(Peer(first_place as u16));
        let link = Link::new(device, job.frame_auth(KeyUse::Unicast))
            .map_err(pombo_kernel::Error::from)?;
        let place = (self.ip, timeout);
        let job = (job, info.fingerprint);
        let far = InterHost::new(loss.over(link), failure_detector, place, job)?;
        Ok((far, description))
    }
}

/// Joins the UDP sockets of all ranks.
#[inline(never)]
fn join_udp(
    mut bound: BoundUdp,
    me: Peer,
    all: &[RemoteAddresses],
    timeout: u32,
) -> Result<Box<Udp>, Box<JobError>> {
    let mtus = all.iter().map(|at| at.mtu.min(DATAGRAM));
    bound.shorten(mtus.min().unwrap_or(0));
    let frames = all.iter().map(|at| at.frames).collect();
    let mut device = Box::new(bound.join(me, frames)?);
    device.set_refused_limit(timeout);
    Ok(device)
}

/// Returns this host's address: that of UDP frames, and that of the connections by which ranks detect dead ones.
fn place(info: &JobInfo, hosts: usize) -> Result<IpAddr, Box<JobError>> {
    match info.net {
        Net::Udp { by: Some(by) } => choose(Some(by), hosts),
        // The loopback address needs no interface, and no firewall blocks it.
        _ if info.one_machine => Ok(IpAddr::from([127, 0, 0, 1])),
        Net::Ethernet { by } => {
            let ip = choose(Some(by), hosts).or_else(|_| choose(None, hosts));
            ip.map_err(|_| Box::new(JobError::NoNetwork {
                hosts,
                why: "raw Ethernet needs IP beside it, by which ranks learn who has gone: give every host an address",
            }))
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
        let info = JobInfo::for_tests(Net::Auto);
        let opening =
            LocalSockets::new(&info, &Hosts::by_names(&[0, 1])).expect("every host has it");
        let word = Block([0xa5; 32]);
        let at = RemoteAddresses::read(3, opening.text(word).as_str()).expect("addresses");
        assert_eq!(at.word, word);
        let bound = opening.udp.as_ref().expect("a socket");
        assert_eq!(at.frames, bound.address());
        assert_eq!(at.listener, opening.listener.address());
        assert_eq!(at.raw, Err(RawUnavailable::NoInterface));
        let raw = "02:00:00:00:00:01/1500";
        let at =
            RemoteAddresses::read(3, &format!("{word}/::1/1/2/1452/{raw}")).expect("addresses");
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
            assert!(RemoteAddresses::read(3, text).is_err(), "{text}");
            let text = format!("{word}/{text}");
            assert!(RemoteAddresses::read(3, &text).is_err(), "{text}");
        }
    }
}
