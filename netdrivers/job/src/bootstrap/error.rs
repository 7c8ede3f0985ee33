//! Errors of joining a job, and what to do about them.

use super::byte_order::{BIG_ENDIAN, byte_order};
#[cfg(feature = "hosts")]
use super::raw_unavailable::RawUnavailable;
use crate::fixed_string::Text;
use crate::log::LogLine;
use alloc::boxed::Box;
use core::ffi::CStr;
#[cfg(feature = "hosts")]
use core::net::SocketAddr;
use pombo_kernel::text::{Hexadecimal, ToText, WriteText, fill};
use pombo_netdrivers::Errno;
#[cfg(feature = "hosts")]
use pombo_netdrivers::ip_text::SocketText;
use pombo_netdrivers::shm::ShmError;
#[cfg(feature = "hosts")]
use pombo_netdrivers::{ethernet::EthernetError, udp::UdpError};

/// Why a process cannot join its job, or use what it has joined.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JobError {
    /// An environment variable has an invalid value.
    Variable {
        /// The name of the variable.
        name: &'static CStr,
        /// The valid values.
        must: &'static str,
        /// The value, if it is set.
        got: Option<&'static CStr>,
    },
    /// An environment variable has been renamed.
    Renamed {
        /// The former name, which is set.
        name: &'static str,
        /// The present one.
        now: &'static str,
    },
    /// An environment variable requires a feature that this library is built without.
    #[cfg(feature = "hosts")]
    NotBuilt {
        /// The name of the variable.
        name: &'static str,
        /// The required feature.
        feature: &'static str,
    },
    /// The shared memory of the ranks of one host failed.
    Shm(ShmError),
    /// A system call failed.
    System {
        /// The purpose of the call.
        doing: &'static str,
        /// The error number.
        errno: i32,
    },
    /// The launcher has closed the connection.
    LauncherGone {
        /// The request.
        asked: &'static str,
    },
    /// The launcher sent a line without an end.
    LauncherLine {
        /// The longest line in bytes.
        limit: usize,
    },
    /// The launcher's answer violates the protocol.
    LauncherAnswer {
        /// The request.
        asked: &'static str,
        /// The beginning of its answer.
        got: Excerpt,
    },
    /// The launcher refused a request.
    LauncherRefused {
        /// The request.
        asked: &'static str,
        /// The launcher's reason.
        said: Excerpt,
    },
    /// The launcher started, or may have started, several ranks and does not tell them of each other.
    ForeignLauncher {
        /// What the launcher has done.
        by: &'static str,
        /// What to start instead.
        instead: &'static str,
    },
    /// This program has no way to ranks of other hosts, and the environment asks for one.
    OneHost {
        /// What in the environment asks for it.
        because: &'static str,
    },
    /// The business card of a rank is invalid.
    BusinessCard {
        /// The rank.
        rank: usize,
        /// The beginning of the card.
        got: Excerpt,
    },
    /// The ranks do not agree on one key.
    #[cfg(feature = "hosts")]
    NoAgreement,
    /// A rank has a program with another composition.
    Fingerprint {
        /// The rank.
        rank: usize,
        /// The fingerprint of this process.
        ours: u64,
        /// The fingerprint of that rank.
        theirs: u64,
    },
    /// A rank's machine has the other byte order, and the library is built for one.
    ByteOrder {
        /// The rank.
        rank: usize,
    },
    /// No interface of this host has that name.
    #[cfg(feature = "hosts")]
    NoInterface {
        /// The name.
        name: Excerpt,
    },
    /// The UDP network between hosts failed.
    #[cfg(feature = "hosts")]
    Udp(Box<UdpError>),
    /// The raw Ethernet network between hosts failed.
    #[cfg(feature = "hosts")]
    Ethernet(Box<EthernetError>),
    /// Not all ranks can use raw Ethernet.
    #[cfg(feature = "hosts")]
    NoEthernet {
        /// One that cannot.
        rank: usize,
        /// The reason.
        why: RawUnavailable,
    },
    /// The channel over the network failed.
    Kernel(pombo_kernel::Error),
    /// There are more ranks than can keep connections to each other.
    TooManyRanks {
        /// Number of ranks.
        ranks: usize,
        /// Largest number of ranks.
        most: usize,
    },
    /// A rank of another host cannot be reached.
    #[cfg(feature = "hosts")]
    Unreachable {
        /// The rank.
        rank: usize,
        /// The address that the rank published.
        address: SocketAddr,
        /// The error number of the connection.
        errno: i32,
    },
    /// A rank ended before all ranks had joined.
    Ended {
        /// The rank.
        rank: usize,
    },
    /// A rank of another host did not connect.
    Missing {
        /// The rank.
        rank: usize,
        /// Seconds for which this rank waited.
        seconds: u64,
    },
    /// The ranks are on several hosts and may not use a network.
    NoNetwork {
        /// Number of hosts.
        hosts: usize,
        /// The reason.
        why: &'static str,
    },
}

/// What is said around the reason of [`JobError::OneHost`].
pub(super) const ONE_HOST: [&str; 2] = [
    "this program was linked for one host, but ",
    ": start it on one host by the mpirun of Pombo, or link it against the whole library",
];

/// What [`JobError::ForeignLauncher`] says around the launcher to use.
const FOREIGN: [&str; 2] = [
    " without PMI-1, so several ranks cannot find each other: use ",
    "; POMBO_RANK=0 and POMBO_SIZE=1 make each a world of its own",
];

pombo_kernel::text::display_as_text! { JobError }

impl ToText for JobError {
    fn put_text(&self, out: &mut dyn WriteText) {
        match self {
            Self::Variable { name, must, got } => {
                fill!(out, "{} must be {}", name.to_str().unwrap_or_default(), must);
                if let Some(got) = got.and_then(|got| got.to_str().ok()) {
                    fill!(out, ", not '{}'", excerpt(got).as_str());
                }
            }
            Self::Renamed { name, now } => {
                fill!(out, "{} is set, which is called {} now: set that instead", name, now)
            }
            #[cfg(feature = "hosts")]
            Self::NotBuilt { name, feature } => fill!(
                out,
                "{} is set, but this library is built without the feature {}: unset it, or build with that",
                name,
                feature
            ),
            Self::Shm(error) => error.put_text(out),
            Self::System { doing, errno } => fill!(out, "cannot {}: {}", doing, Errno(*errno)),
            Self::LauncherGone { asked } => fill!(
                out,
                "the launcher has closed its connection when asked for {}: see its own messages",
                asked
            ),
            Self::LauncherLine { limit } => fill!(
                out,
                "the launcher sent more than {} bytes without an end of line: PMI_FD or PMI_PORT leads elsewhere",
                limit
            ),
            Self::LauncherAnswer { asked, got } => fill!(
                out,
                "asked for {}, the launcher answered '{}': use one that speaks PMI-1, such as Hydra's mpiexec",
                asked,
                got.as_str()
            ),
            Self::LauncherRefused { asked, said } => fill!(
                out,
                "the launcher refused {}: {}; see its own messages",
                asked,
                said.as_str()
            ),
            Self::ForeignLauncher { by, instead } => {
                fill!(out, "{}{}{}{}", by, FOREIGN[0], instead, FOREIGN[1])
            }
            Self::OneHost { because } => fill!(out, "{}{}{}", ONE_HOST[0], because, ONE_HOST[1]),
            Self::BusinessCard { rank, got } => fill!(
                out,
                "rank {} says '{}' of itself: use the same version of Pombo on every host",
                rank,
                got.as_str()
            ),
            #[cfg(feature = "hosts")]
            Self::NoAgreement => out.write_text(
                "the ranks do not agree on a key: give all of them a POMBO_AUTH_KEY_FILE of the same content, or none; \
                 if they have that, somebody changes what the launcher carries between them",
            ),
            Self::Fingerprint { rank, ours, theirs } => fill!(
                out,
                "this rank is composed as {}, rank {} as {}: use the same build of the library on every host",
                Hexadecimal(*ours, 16),
                rank,
                Hexadecimal(*theirs, 16)
            ),
            Self::ByteOrder { rank } => fill!(
                out,
                "rank {} runs on a {}-endian machine, this one on a {}-endian machine: build the library for both \
                 with the feature heterogeneous",
                rank,
                byte_order(!BIG_ENDIAN),
                byte_order(BIG_ENDIAN)
            ),
            #[cfg(feature = "hosts")]
            Self::NoInterface { name } => fill!(
                out,
                "POMBO_NET names '{}', which is neither an address nor an interface of this host",
                name.as_str()
            ),
            #[cfg(feature = "hosts")]
            Self::Udp(error) => error.put_text(out),
            #[cfg(feature = "hosts")]
            Self::Ethernet(error) => error.put_text(out),
            #[cfg(feature = "hosts")]
            Self::NoEthernet { rank, why } => fill!(out, "no raw Ethernet: rank {} {}", rank, why),
            Self::Kernel(error) => error.put_text(out),
            Self::TooManyRanks { ranks, most } => fill!(
                out,
                "{} ranks on several hosts, but only {} are possible: start fewer",
                ranks,
                most
            ),
            #[cfg(feature = "hosts")]
            Self::Unreachable {
                rank,
                address,
                errno,
            } => fill!(
                out,
                "no connection to rank {} at {}, {}: open that host's ports to this one, or choose another interface \
                 with POMBO_NET",
                rank,
                SocketText(*address),
                Errno(*errno)
            ),
            Self::Ended { rank } => {
                fill!(out, "rank {} has ended: see its own messages", rank)
            }
            Self::Missing { rank, seconds } => fill!(
                out,
                "rank {} of another host did not come in {} s: see its own messages, open this host's ports to that \
                 one, or choose another interface with POMBO_NET",
                rank,
                seconds
            ),
            Self::NoNetwork { hosts, why } => {
                fill!(out, "the ranks are on {} hosts, and {}", hosts, why)
            }
        }
    }
}

impl core::error::Error for JobError {}

/// The functions of a start return errors in boxes, as each of their callers has a copy of what moves one.
impl From<Box<JobError>> for JobError {
    fn from(error: Box<JobError>) -> Self {
        *error
    }
}

impl From<ShmError> for Box<JobError> {
    #[cold]
    fn from(error: ShmError) -> Self {
        Box::new(JobError::Shm(error))
    }
}

#[cfg(feature = "hosts")]
impl From<Box<EthernetError>> for Box<JobError> {
    #[cold]
    fn from(error: Box<EthernetError>) -> Self {
        Box::new(JobError::Ethernet(error))
    }
}

#[cfg(feature = "hosts")]
impl From<Box<UdpError>> for Box<JobError> {
    #[cold]
    fn from(error: Box<UdpError>) -> Self {
        Box::new(JobError::Udp(error))
    }
}

impl From<pombo_kernel::Error> for Box<JobError> {
    #[cold]
    fn from(error: pombo_kernel::Error) -> Self {
        Box::new(JobError::Kernel(error))
    }
}

impl JobError {
    /// Writes the error without the machinery of formatting: in short, but for those that the environment causes.
    pub fn write_brief(&self, line: &mut LogLine) {
        match self {
            Self::Variable { name, must, .. } => {
                line.put_bytes(name.to_bytes()).put(" must be ").put(must)
            }
            Self::OneHost { because } => line.put(ONE_HOST[0]).put(because).put(ONE_HOST[1]),
            #[cfg(feature = "launchers")]
            Self::ForeignLauncher { by, instead } => {
                line.put(by).put(FOREIGN[0]).put(instead).put(FOREIGN[1])
            }
            Self::System { doing, errno } => {
                line.put("cannot ").put(doing).put(", error number ").put_number(*errno)
            }
            Self::Shm(ShmError::System { call, errno }) => {
                line.put(call).put(" failed with error number ").put_number(*errno)
            }
            Self::Shm(_) => line.put(
                "the launcher's descriptor is that of another job, version or composition of the library",
            ),
            _ => line.put("the whole library tells the reason: link the program against that"),
        };
    }

    /// Returns the error of an invalid variable.
    pub fn variable(
        name: &'static CStr,
        must: &'static str,
        got: Option<&'static CStr>,
    ) -> Box<Self> {
        Box::new(Self::Variable { name, must, got })
    }

    /// Returns the error of an invalid card of that rank.
    #[cfg(feature = "launchers")]
    pub(crate) fn card(rank: usize, text: &str) -> Box<Self> {
        let got = excerpt(text);
        Box::new(Self::BusinessCard { rank, got })
    }

    /// Returns the error of a failed system call.
    pub(crate) fn failed<E: Into<Errno>>(doing: &'static str) -> impl Fn(E) -> Box<Self> {
        move |error| {
            let Errno(errno) = error.into();
            Box::new(Self::System { doing, errno })
        }
    }

    /// Returns whether this is a system call's error of that number.
    #[cfg(feature = "launchers")]
    pub(crate) fn is(&self, number: i32) -> bool {
        matches!(*self, Self::System { errno, .. } if errno == number)
    }
}

/// The beginning of a foreign text, safe to print. It lies apart: each place that passes an error on has a copy of its
/// moves.
pub type Excerpt = Box<Text<80>>;

/// Returns the beginning of a text without characters that would affect a terminal.
pub(crate) fn excerpt(text: &str) -> Excerpt {
    let mut excerpt = Text::new();
    for letter in text.chars() {
        let shown = if letter.is_control() { '?' } else { letter };
        let before = excerpt.as_bytes().len();
        excerpt.put(shown.encode_utf8(&mut [0; 4]));
        if excerpt.as_bytes().len() == before {
            break;
        }
    }
    Box::new(excerpt)
}
