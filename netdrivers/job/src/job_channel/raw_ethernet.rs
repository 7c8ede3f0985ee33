//! Raw Ethernet between hosts: who can, and whether the frames of everybody arrive. `connect` only.

use super::address_card::RemoteAddresses;
use crate::bootstrap::ExchangedText;
use crate::bootstrap::Launcher;
use crate::bootstrap::{JobError, JobInfo, RawUnavailable, read};
use crate::host_map::Hosts;
use crate::settings::{ETHERNET_IO, PNET};
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;
use pombo_kernel::channel::Arrival;
use pombo_kernel::{Network, Part, Peer};
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{Address, BoundEthernet, FrameAddress, Traffic};

/// A seat at the interface of that name, or at the only one with a link.
pub(super) fn open(
    name: &str,
    (job, peer): (u64, Peer),
    traffic: Traffic,
) -> Result<BoundEthernet, JobError> {
    let job = job as u16;
    let open = match is_by_pnet()? {
        #[cfg(feature = "pnet")]
        true => Ethernet::open_pnet,
        _ => Ethernet::open,
    };
    let opened = open(name, FrameAddress { job, peer, traffic })?;
    match opened.interface().running {
        true => Ok(opened),
        false => Err(refuse(peer.index(), RawUnavailable::NoLink)),
    }
}

/// Are frames to go by `pnet`?
///
/// # Errors
/// [`JobError::NotBuilt`]: they are, and this library cannot.
pub(super) fn is_by_pnet() -> Result<bool, JobError> {
    let by_pnet = ETHERNET_IO.read(|text| Some(text == PNET))?;
    match by_pnet && !cfg!(feature = "pnet") {
        true => Err(JobError::NotBuilt {
            name: ETHERNET_IO.name(),
            feature: PNET,
        }),
        false => Ok(by_pnet),
    }
}

/// At the interface that has this address.
pub(super) fn open_at(ip: IpAddr, (job, peer): (u64, Peer)) -> Result<BoundEthernet, JobError> {
    let all = pombo_netdrivers::udp::interfaces()?;
    let at = all.iter().find(|one| one.address == ip && !one.loopback);
    let why = RawUnavailable::NoInterface;
    let at = at.ok_or(refuse(peer.index(), why))?;
    open(&at.name, (job, peer), Traffic::Unicast)
}

/// That rank cannot.
pub(super) fn refuse(rank: usize, why: RawUnavailable) -> JobError {
    JobError::NoEthernet { rank, why }
}

/// Joins the others if all of them are there and hear each other; all ranks get the same answer.
pub(super) fn join(
    opened: Result<BoundEthernet, JobError>,
    (info, hosts): (&JobInfo, &Hosts),
    all: &[RemoteAddresses],
    launcher: &mut Launcher,
) -> Result<Ethernet, JobError> {
    let mut addresses: Vec<Address> = Vec::new();
    for (rank, at) in all.iter().enumerate() {
        addresses.push(at.raw.map_err(|why| refuse(rank, why))?);
    }
    let mut device = opened?.join(&addresses)?;
    let others = other_hosts(&device, info.me, hosts);
    // All have called before anybody counts the time, and what comes meanwhile waits: nobody need be quick to be heard.
    send_trial(&mut device, &others);
    launcher.exchange("pombo-called", &ExchangedText::from("-"))?;
    let unheard = receive_trials(&mut device, &others);
    let word = unheard.map_or(ExchangedText::from("-"), |rank| {
        ExchangedText::of(format_args!("{rank}"))
    });
    let words = read(&launcher.exchange("pombo-heard", &word)?, |_, word| {
        Ok(word.parse().ok())
    })?;
    for (rank, unheard) in words.into_iter().enumerate() {
        if let Some(unheard) = unheard {
            return Err(refuse(rank, RawUnavailable::Unheard { rank: unheard }));
        }
    }
    // All of that was sent before all had said so, and nobody says anything else yet.
    while device.poll(|_| ()).is_ok_and(|any| any) {}
    Ok(device)
}

/// Nanoseconds that ranks wait for each other's first frames when all have sent some: far longer than those take where
/// they come at all.
const TRIAL: u64 = 1_000_000_000;
/// Nanoseconds between two frames to a rank, and how many it gets at least: any of them may be lost.
const ROUND: u64 = 20_000_000;
const ROUNDS: u64 = 3;

/// The ranks of other hosts.
fn other_hosts(device: &Ethernet, me: Peer, hosts: &Hosts) -> Vec<Peer> {
    let peers = (0..device.peers()).map(|peer| Peer(peer as u16));
    let is_far = |peer: &Peer| !hosts.share_host(me, *peer);
    peers.filter(is_far).collect()
}

/// Says something to each of them, in as many bytes as a frame may ever have: a switch that does not carry those is
/// found now.
fn send_trial(device: &mut Ethernet, others: &[Peer]) {
    let longest = vec![b'?'; device.mtu()];
    for peer in others {
        // One that does not leave is like one that is lost.
        let _ = device.transmit(*peer, &[Part::Bytes(&longest)]);
    }
}

/// Hears something of each of them, and goes on calling meanwhile. The first that it does not hear.
fn receive_trials(device: &mut Ethernet, others: &[Peer]) -> Option<usize> {
    let (begin, mut missing) = (device.now(), others.to_vec());
    let (mut rounds, mut idle) = (0, 0);
    loop {
        let now = device.now();
        if now >= begin + rounds * ROUND || missing.is_empty() {
            rounds += 1;
            send_trial(device, others);
        }
        let came = device.poll(|frame| {
            missing.retain(|peer| *peer != frame.from());
        });
        // Time is up when nothing waits to be read any more.
        let over = came.is_err() || came == Ok(false) && now >= begin + TRIAL;
        if missing.is_empty() && rounds >= ROUNDS || over {
            return missing.first().map(|peer| peer.index());
        }
        idle = if came == Ok(true) { 0 } else { idle + 1 };
        let _ = device.wait(idle, begin + rounds * ROUND);
    }
}
