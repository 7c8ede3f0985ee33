//! Raw Ethernet between hosts: which ranks can use it, and a trial of whether all frames arrive. Only `connect` uses
//! it.

use super::bulk::{Bulk, FAST_LINE, USUAL_FRAME};
use super::peer_addresses::RemoteAddresses;
use crate::bootstrap::ExchangedText;
use crate::bootstrap::Launcher;
use crate::bootstrap::{JobError, JobInfo, RawUnavailable};
use crate::fixed_string::text;
use crate::host_map::Hosts;
use crate::settings::whole;
use crate::settings::{ETHERNET_IO, PNET};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::{Network, Part, Peer};
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{Address, BoundEthernet, FrameAddress, Traffic};
use pombo_netdrivers::wait::now;
use pombo_transport::ContiguousFrame;

/// Opens a device at the interface of that name, or at the only one with a carrier.
pub(super) fn open(
    name: &str,
    (job, peer): (u64, Peer),
    traffic: Traffic,
) -> Result<BoundEthernet, Box<JobError>> {
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

/// Returns whether frames are to go by `pnet`.
///
/// # Errors
/// [`JobError::NotBuilt`]: they are, and this library is built without it.
pub(super) fn is_by_pnet() -> Result<bool, Box<JobError>> {
    let by_pnet = ETHERNET_IO.read(|text| Some(text == PNET))?;
    match by_pnet && !cfg!(feature = "pnet") {
        true => Err(Box::new(JobError::NotBuilt {
            name: ETHERNET_IO.name(),
            feature: PNET,
        })),
        false => Ok(by_pnet),
    }
}

/// Opens a device at the interface that has this address.
pub(super) fn open_at(
    ip: IpAddr,
    (job, peer): (u64, Peer),
) -> Result<BoundEthernet, Box<JobError>> {
    let all = pombo_netdrivers::udp::interfaces()?;
    let at = all.iter().find(|one| one.address == ip && !one.loopback);
    let why = RawUnavailable::NoInterface;
    let at = at.ok_or(refuse(peer.index(), why))?;
    open(&at.name, (job, peer), Traffic::Unicast)
}

/// Returns the error of a rank that cannot use raw Ethernet.
pub(super) fn refuse(rank: usize, why: RawUnavailable) -> Box<JobError> {
    Box::new(JobError::NoEthernet { rank, why })
}

/// Joins the others if all of them can and receive each other's frames; all ranks get the same result. Beside the device
/// it returns what becomes of long messages, if there is UDP for them and raw frames are not longer than usual.
pub(super) fn join(
    opened: Result<BoundEthernet, Box<JobError>>,
    mut udp: Option<&mut dyn TrialDevice>,
    (info, hosts): (&JobInfo, &Hosts),
    all: &[RemoteAddresses],
    launcher: &mut Launcher,
) -> Result<(Box<Ethernet>, Option<Bulk>), Box<JobError>> {
    let mut addresses: Vec<Address> = Vec::new();
    for (rank, at) in all.iter().enumerate() {
        addresses.push(at.raw.map_err(|why| refuse(rank, why))?);
    }
    let mut device = Box::new(opened?.join(&addresses)?);
    udp = udp.filter(|_| device.mtu() <= USUAL_FRAME);
    let mut bulk = match udp {
        Some(_) => Bulk::asked()?,
        None => Bulk::Unwanted,
    };
    if bulk == Bulk::Udp && device.speed().is_some_and(|speed| speed < FAST_LINE) {
        bulk = Bulk::SlowLine;
    }
    let others = other_hosts(all.len(), info.me, hosts);
    // All have sent before the time starts, and frames that arrive meanwhile are queued: so no rank has to be quick.
    device.send_trial(&others);
    if let Some(udp) = &mut udp {
        udp.send_trial(&others);
    }
    launcher.exchange("pombo-called", &ExchangedText::from("-"))?;
    let unheard = receive_trials(&mut *device, &others, TRIAL);
    if let Some(udp) = &mut udp
        && receive_trials(*udp, &others, BULK_TRIAL).is_some()
    {
        bulk = Bulk::Unheard;
    }
    let bulk = bulk.letter();
    let word = match unheard {
        None => text!("{}-", bulk),
        Some(rank) => text!("{}{}", bulk, rank),
    };
    let mut bulk = Bulk::Udp;
    for (rank, word) in launcher.exchange("pombo-heard", &word)?.iter().enumerate() {
        let word = word.as_str();
        let mut rest = word.chars();
        let its = rest.next().and_then(Bulk::of_letter);
        let its = its.ok_or_else(|| JobError::card(rank, word))?;
        if let Some(rank_unheard) = whole(rest.as_str().as_bytes()) {
            let why = RawUnavailable::Unheard { rank: rank_unheard };
            return Err(refuse(rank, why));
        }
        if bulk == Bulk::Udp {
            bulk = its;
        }
    }
    // All of these frames were sent before the exchange, and no rank sends others yet.
    device.drain();
    let bulk = udp.map(|udp| {
        udp.drain();
        bulk
    });
    Ok((device, bulk))
}

/// Nanoseconds that ranks wait for each other's first frames after all have sent some: far longer than delivery takes.
const TRIAL: u64 = 1_000_000_000;
/// As [`TRIAL`], for UDP beside raw Ethernet, without which the job is slower but runs.
const BULK_TRIAL: u64 = 200_000_000;
/// Nanoseconds between two frames to a rank, and the least number of frames to each: any of them may be lost.
const ROUND: u64 = 20_000_000;
const ROUNDS: u64 = 3;

/// A device as its trial needs it: an object, so that the trial exists once.
pub(super) trait TrialDevice {
    /// Sends a frame of the largest size to each of them, so that a switch that does not carry it is detected now.
    fn send_trial(&mut self, others: &[Peer]);

    /// Tells the sources of what has arrived. Returns whether anything has.
    fn hear(&mut self, from: &mut dyn FnMut(Peer)) -> Result<bool, ChannelError>;

    /// Waits as [`Network::wait`].
    fn wait_until(&mut self, idle: u32, until: u64);

    /// Drops what has arrived.
    fn drain(&mut self) {
        while self.hear(&mut |_| ()).is_ok_and(|any| any) {}
    }
}

impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>> TrialDevice for N {
    fn send_trial(&mut self, others: &[Peer]) {
        let longest = vec![b'?'; self.mtu()];
        for peer in others {
            // A frame that is not sent counts as lost.
            let _ = self.transmit(*peer, &[Part::Bytes(&longest)]);
        }
    }

    fn hear(&mut self, from: &mut dyn FnMut(Peer)) -> Result<bool, ChannelError> {
        // As an object, by which the device is polled later, too.
        let mut each = |frame: ContiguousFrame<'_>| from(frame.from());
        let each: &mut dyn FnMut(ContiguousFrame<'_>) = &mut each;
        self.poll(each)
    }

    fn wait_until(&mut self, idle: u32, until: u64) {
        let _ = self.wait(idle, until);
    }
}

/// Returns the ranks of other hosts.
fn other_hosts(ranks: usize, me: Peer, hosts: &Hosts) -> Vec<Peer> {
    let mut others = Vec::new();
    for peer in (0..ranks as u16).map(Peer) {
        if !hosts.share_host(me, peer) {
            others.push(peer);
        }
    }
    others
}

/// Waits `trial` nanoseconds at most for a frame of each of them, and goes on sending meanwhile. Returns the first rank
/// that was not received.
fn receive_trials(device: &mut dyn TrialDevice, others: &[Peer], trial: u64) -> Option<usize> {
    let (begin, mut missing) = (now(), others.to_vec());
    let (mut rounds, mut idle) = (0, 0);
    loop {
        let now = now();
        if now >= begin + rounds * ROUND || missing.is_empty() {
            rounds += 1;
            device.send_trial(others);
        }
        let came = device.hear(&mut |from| missing.retain(|peer| *peer != from));
        // The time-out counts only when no frame waits to be read any more.
        let over = came.is_err() || came == Ok(false) && now >= begin + trial;
        if missing.is_empty() && rounds >= ROUNDS || over {
            return missing.first().map(|peer| peer.index());
        }
        idle = if came == Ok(true) { 0 } else { idle + 1 };
        device.wait_until(idle, begin + rounds * ROUND);
    }
}
