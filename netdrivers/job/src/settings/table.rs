//! The table of the variables of a job: those that ranks read here, and those that a launcher sets for them.

use super::const_format::words;
use super::delay;
use super::loss;
use super::values::{Values, numbers};
use super::variable::variables;
use crate::bootstrap::{Auth, NETWORKS, split};

/// Least and largest number of bytes of the file that [`AUTH_KEY_FILE`] names.
pub(crate) const KEY_FILE_BYTES: (usize, usize) = (16, 1024);

/// What [`ETHERNET_IO`] says where frames are to go by that package.
pub(crate) const PNET: &str = "pnet";
const ETHERNET_IO_MUST: &str = "ring or pnet";

/// What [`ETHERNET_BULK`] says where raw frames are to carry everything.
pub(crate) const RAW: &str = "raw";
const ETHERNET_BULK_MUST: &str = "auto or raw";

variables! {
    NET: Values { must: NETWORKS, fits: |text| split(text).is_some(), ..Values::ANY }, default "auto",
        "what carries messages between hosts; ranks of one host share memory. auto: raw Ethernet if all ranks may and \
         hear each other, else UDP; shm: nothing; the others: that, where there is one host between all ranks";
    AUTH: Values { must: Auth::MUST, fits: |text| Auth::read(text).is_some(), ..Values::ANY }, default "on",
        "what tells frames between hosts from those of strangers; rank 0 says it for all. on: a tag over headers and a \
         checksum of the payload; full: a tag over every byte; off: nothing, so whoever can send to these hosts can \
         write messages of the job";
    AUTH_KEY_FILE:
        Values::text(words!(
            "a file of ", KEY_FILE_BYTES.0, " to ", KEY_FILE_BYTES.1; " bytes, as of `head -c 32 /dev/urandom`"
        )), default "",
        "the same at all ranks, and of mode 0600: without it whoever can change what the launcher carries between hosts \
         can come to know the key of the job";
    ETHERNET_HELPER: Values::text("a program"), default "pombo-ethernet",
        "opens raw sockets for ranks without the right to; see pombo setup";
    ETHERNET_IO: Values { must: ETHERNET_IO_MUST, fits: |text| ["ring", PNET].contains(&text), ..Values::ANY }, default "ring",
        "what carries raw frames. ring: packet sockets of Linux, whose memory the system shares; pnet: the package of \
         that name, frame by frame, where the library was built with the feature pnet";
    ETHERNET_BULK: Values { must: ETHERNET_BULK_MUST, fits: |text| ["auto", RAW].contains(&text), ..Values::ANY }, default "auto",
        "what carries long messages where POMBO_NET is auto and raw Ethernet was taken. auto: UDP, where frames are not \
         longer than usual and no line is known to have 1 Gb/s or less, as the system takes 64 datagrams in one call; \
         raw: raw Ethernet";
    GROUP_CASTS: Values::SWITCH, default "1",
        "0: messages to named groups go to every member alone; 1: short ones go to members on other hosts as one frame, \
         where the network has multicast and the job up to 64 processes";
    VERBOSE: Values::SWITCH, default "0",
        "1: rank 0 of a job on several hosts says what carries messages between them, and why";
    HOST_TIMEOUT: numbers!("seconds", 1, 3600), default "10",
        "a host that does not answer for so long counts as gone, and the ranks on it";
    STATS_FILE: Values::text("a file"), default "",
        "every rank appends to it at its end: rank, messages and bytes sent; frames between hosts sent, sent again, \
         repairing others, arrived again, dropped, rejected";
    JOB: Values::text("a name"), default "",
        "under it ranks meet that no launcher started, each given RANK and SIZE";
    RANK: Values::NUMBER, default "0",
        "set by the launcher: this process's rank in the job";
    SIZE: Values::NUMBER, default "1",
        "set by the launcher: number of ranks in the job";
    LOCAL_RANK: Values::NUMBER, default "0",
        "set by the launcher: this process's rank among those on this machine";
    LOCAL_SIZE: Values::NUMBER, default "1",
        "set by the launcher: number of ranks on this machine";
    LOCAL_CORES: Values::NUMBER, default "all of the machine",
        "set by the launcher: processors that the ranks on this machine share";
    SHM_FD: Values::NUMBER, default "",
        "set by the launcher: descriptor of the memory file that the ranks share";
    SPARE: Values::NUMBER, default "0",
        "set by the launcher: number of places for processes that join the job while it runs; SIZE counts them";
    FAKE_HOST: Values::text("a name"), default "found out",
        "for tests: the host that this rank is on; ranks with the same one share memory";
    FAULT_LOSS: Values { must: loss::MUST, fits: |text| loss::parse(text).is_some(), ..Values::ANY }, default "0",
        "for tests: frames from other hosts that are lost on purpose";
    FAULT_DELAY: Values { must: delay::MUST, fits: delay::fits, ..Values::ANY }, default "",
        "for tests on one machine, the same at all ranks: what frames between ranks take longer, and from when on, as \
         `pombo sites run` sets it";
}
