//! What ranks tell each other through a launcher: their hosts, keys and compositions. `bootstrap` starts it where a
//! launcher serves the ranks.
//!
//! A rank that keeps a place for a process that joins later has no composition of its own: it takes that of the others,
//! and shares memory with nobody.

use super::business_card::{BusinessCard, JobName};
use super::byte_order::BIG_ENDIAN;
#[cfg(feature = "hosts")]
use super::key_agreement;
use super::{
    Bootstrapped, ExchangedText, JobError, JobInfo, JoinError, Launcher, Net, host, processor,
};
use crate::environment::random;
use crate::fixed_string::text;
use crate::host_map::Hosts;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pombo_kernel::Peer;
use pombo_kernel::text::Hexadecimal;
use pombo_netdrivers::shm::{self, Shm};

/// Exchanges cards through the launcher, and shares memory with the ranks of the same host.
#[inline(never)]
pub(super) fn start_by_launcher(
    mut launcher: Launcher,
    net: Result<Net, Box<JobError>>,
    fingerprint: u64,
) -> Result<Bootstrapped, Box<JoinError>> {
    let description = net.and_then(|net| {
        let (info, hosts) = exchange_cards(&mut launcher, net, fingerprint)?;
        let shm = match fingerprint {
            KEEPS_PLACE => Shm::alone()?,
            _ => {
                let members = hosts.members(hosts.of(info.me));
                attach_shm(info.job.id, info.me, members, fingerprint)?
            }
        };
        Ok((info, hosts, shm))
    });
    let launcher = Some(launcher);
    match description {
        Ok((info, hosts, shm)) => Ok(Bootstrapped {
            shm,
            launcher,
            info: (!hosts.is_single()).then_some(info),
            hosts,
        }),
        Err(error) => Err(Box::new(JoinError { error, launcher })),
    }
}

/// The fingerprint of a rank that keeps a place.
pub(crate) const KEEPS_PLACE: u64 = 0;

/// Exchanges cards and derives the hosts from them.
#[inline(never)]
fn exchange_cards(
    launcher: &mut Launcher,
    net: Net,
    fingerprint: u64,
) -> Result<(JobInfo, Hosts), Box<JobError>> {
    let rank = launcher.rank();
    let (job, machine) = (JobName::new()?, host::machine());
    #[cfg(feature = "hosts")]
    let secret = key_agreement::Secret::new()?;
    let card = BusinessCard {
        host: match fingerprint {
            KEEPS_PLACE => u64::from_le_bytes(random()?),
            _ => host::sharing(host::configured().unwrap_or(machine)),
        },
        machine,
        fingerprint,
        big_endian: BIG_ENDIAN,
        #[cfg(feature = "hosts")]
        public: secret.public(),
        job: (rank == 0).then_some(job),
    };
    let words = launcher.exchange("pombo", &card.text())?;
    let cards = read(&words, BusinessCard::read)?;
    // The first rank keeps no place.
    let agreed = match (fingerprint, cards.first()) {
        (KEEPS_PLACE, Some(first)) => first.fingerprint,
        _ => fingerprint,
    };
    let mut ranks = cards.iter().enumerate();
    let differs = |card: &BusinessCard| ![agreed, KEEPS_PLACE].contains(&card.fingerprint);
    if let Some((rank, other)) = ranks.find(|(_, card)| differs(card)) {
        return Err(Box::new(match other.big_endian == BIG_ENDIAN {
            true => JobError::Fingerprint {
                rank,
                ours: agreed,
                theirs: other.fingerprint,
            },
            false => JobError::ByteOrder { rank },
        }));
    }
    let job = cards.first().and_then(|card| card.job).unwrap_or(job);
    let before = cards.get(..rank).unwrap_or_default();
    if fingerprint != KEEPS_PLACE {
        processor::spread(on(machine, before), on(machine, &cards), job.id);
    }
    let mut hosts = Vec::new();
    // A network that was requested is used: on a single host every rank then counts as a host.
    let apart = net.is_named() && cards.iter().all(|card| card.host == cards[0].host);
    for (rank, card) in cards.iter().enumerate() {
        hosts.push(if apart { rank as u64 } else { card.host });
    }
    let hosts = Hosts::by_names(&hosts);
    let info = JobInfo {
        me: Peer(rank as u16),
        #[cfg(feature = "hosts")]
        net,
        #[cfg(feature = "hosts")]
        ring_keys: match hosts.is_single() {
            true => None,
            false => {
                let publics: Vec<_> = cards.iter().map(|card| card.public).collect();
                Some(secret.links(rank, &words, &publics)?)
            }
        },
        job,
        #[cfg(feature = "hosts")]
        fingerprint: agreed,
        #[cfg(feature = "hosts")]
        one_machine: cards.iter().all(|card| card.machine == machine),
    };
    Ok((info, hosts))
}

/// Returns the number of ranks on that machine that run programs.
#[inline(never)]
fn on(machine: u64, cards: &[BusinessCard]) -> usize {
    let runs = |card: &&BusinessCard| card.machine == machine && card.fingerprint != KEEPS_PLACE;
    cards.iter().filter(runs).count()
}

/// Parses the exchanged texts, by rank.
pub(crate) fn read<T>(
    words: &[ExchangedText],
    read: impl Fn(usize, &str) -> Result<T, Box<JobError>>,
) -> Result<Vec<T>, Box<JobError>> {
    let mut all = Vec::with_capacity(words.len());
    for (rank, word) in words.iter().enumerate() {
        all.push(read(rank, word.as_str())?);
    }
    Ok(all)
}

/// Shares memory with the ranks of this host.
fn attach_shm(
    job: u64,
    me: Peer,
    members: &[Peer],
    fingerprint: u64,
) -> Result<Box<Shm>, Box<JobError>> {
    let shm = match (members.first(), members.len()) {
        (Some(first), 2..) => {
            let place = members.iter().position(|peer| *peer == me);
            let name: ExchangedText = text!("{}-{}", Hexadecimal(job, 16), first);
            let (place, ranks) = (place.unwrap_or(0), members.len());
            shm::bootstrap_observed(name.as_str(), place, ranks, fingerprint, &mut |_| {})?
        }
        _ => Shm::alone()?,
    };
    for (place, member) in members.iter().enumerate() {
        shm.segment().set_job_rank(place, member.0);
    }
    Ok(shm)
}
