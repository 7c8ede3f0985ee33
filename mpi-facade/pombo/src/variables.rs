//! The one table of environment variables. `pombo info` prints it and the documentation cites
//! it; the launcher's modules take the names from here.

/// A variable that Pombo sets or reads.
pub(crate) struct Variable {
    /// Its name, with the prefix `POMBO_`.
    pub(crate) name: &'static str,
    /// What holds when it is not set.
    pub(crate) default: &'static str,
    /// Who sets it and what it means.
    pub(crate) meaning: &'static str,
}

/// Set for every rank.
pub(crate) const RANK: &str = "POMBO_RANK";
/// Set for every rank.
pub(crate) const SIZE: &str = "POMBO_SIZE";
/// Set for every rank.
pub(crate) const LOCAL_RANK: &str = "POMBO_LOCAL_RANK";
/// Set for every rank.
pub(crate) const LOCAL_SIZE: &str = "POMBO_LOCAL_SIZE";
/// Set for every rank.
pub(crate) const LOCAL_CORES: &str = "POMBO_LOCAL_CORES";
/// Set for every rank.
pub(crate) const SHM_FD: &str = "POMBO_SHM_FD";
/// Read by the C library.
pub(crate) const JOB: &str = "POMBO_JOB";
/// Read by the C library.
pub(crate) const CREDIT: &str = "POMBO_CREDIT";
/// Read by the C library.
pub(crate) const EAGER_LIMIT: &str = "POMBO_EAGER_LIMIT";
/// Read by the C library.
pub(crate) const SEND_BUFFER_BYTES: &str = "POMBO_SEND_BUFFER_BYTES";
/// Read by the C library.
pub(crate) const ONE_COPY: &str = "POMBO_ONE_COPY";
/// Read by the C library.
pub(crate) const NET: &str = "POMBO_NET";
/// Read by the C library.
pub(crate) const AUTH: &str = "POMBO_AUTH";
pub(crate) const AUTH_KEY_FILE: &str = "POMBO_AUTH_KEY_FILE";
/// Read by the C library.
pub(crate) const VERBOSE: &str = "POMBO_VERBOSE";
/// Read by the C library.
pub(crate) const ETHERNET_HELPER: &str = "POMBO_ETHERNET_HELPER";
/// Read by the C library.
pub(crate) const HOST: &str = "POMBO_HOST";
/// Read by the C library.
pub(crate) const HOST_TIMEOUT: &str = "POMBO_HOST_TIMEOUT";
/// Read by the C library.
pub(crate) const LOSS: &str = "POMBO_LOSS";
/// Read by the C library.
pub(crate) const PROGRESS_THREAD: &str = "POMBO_PROGRESS_THREAD";
/// Read by the C library.
pub(crate) const STATS: &str = "POMBO_STATS";
/// Read by whatever needs the C library.
pub(crate) const LIB: &str = "POMBO_LIB";
/// Read by `mpicc`.
pub(crate) const CC: &str = "POMBO_CC";
/// Read by `mpicxx`.
pub(crate) const CXX: &str = "POMBO_CXX";
/// Read by `pombo run`.
pub(crate) const GRACE: &str = "POMBO_GRACE";

/// Every variable, in the order in which `pombo info` prints them.
pub(crate) const TABLE: &[Variable] = &[
    Variable {
        name: RANK,
        default: "0",
        meaning: "set by the launcher: this process's rank in the job",
    },
    Variable {
        name: SIZE,
        default: "1",
        meaning: "set by the launcher: number of ranks in the job",
    },
    Variable {
        name: LOCAL_RANK,
        default: "0",
        meaning: "set by the launcher: this process's rank among those on this machine",
    },
    Variable {
        name: LOCAL_SIZE,
        default: "1",
        meaning: "set by the launcher: number of ranks on this machine",
    },
    Variable {
        name: LOCAL_CORES,
        default: "all of the machine",
        meaning: "set by the launcher: processors that the ranks on this machine share",
    },
    Variable {
        name: SHM_FD,
        default: "none",
        meaning: "set by the launcher: descriptor of the memory file that the ranks share",
    },
    Variable {
        name: JOB,
        default: "none",
        meaning: "name under which ranks that no launcher started meet, given RANK and SIZE",
    },
    Variable {
        name: CREDIT,
        default: "128",
        meaning: "unexpected messages that a rank keeps for each peer, 1 to 128",
    },
    Variable {
        name: EAGER_LIMIT,
        default: "8192",
        meaning: "longest message in bytes that is sent without asking, at most 8192",
    },
    Variable {
        name: SEND_BUFFER_BYTES,
        default: "67108864",
        meaning: "bytes that copies of short messages take in a rank at most, so that their sends return at once",
    },
    Variable {
        name: ONE_COPY,
        default: "auto",
        meaning: "long messages that the receiver reads from the sender's memory, where the system allows it, instead of two copies that overlap: auto, never, always, or from that many bytes on",
    },
    Variable {
        name: NET,
        default: "auto",
        meaning: "what carries messages between hosts; ranks of one host share memory. auto: raw Ethernet if all ranks may and are on one segment, else UDP; shm: nothing; udp, udp:ADDRESS, udp:INTERFACE, ethernet, ethernet:INTERFACE: that, where there is one host between all ranks",
    },
    Variable {
        name: AUTH,
        default: "on",
        meaning: "how frames between hosts show that a rank of the job has sent them; rank 0 says it for all. on: by a tag over headers, number and a checksum of the payload; full: by a tag over every byte; off: not at all, so whoever can send to these hosts can write messages of the job",
    },
    Variable {
        name: AUTH_KEY_FILE,
        default: "",
        meaning: "file of 16 to 1024 bytes, the same at all ranks, that its owner alone may read (0600): without it whoever can change what the launcher carries between hosts can come to know the key of the job",
    },
    Variable {
        name: ETHERNET_HELPER,
        default: "pombo-ethernet",
        meaning: "program that opens raw sockets for ranks without the right to; see pombo setup",
    },
    Variable {
        name: VERBOSE,
        default: "0",
        meaning: "1: rank 0 of a job on several hosts says what carries messages between them, and why",
    },
    Variable {
        name: PROGRESS_THREAD,
        default: "0",
        meaning: "1: a thread of every rank serves the others while the program computes",
    },
    Variable {
        name: HOST_TIMEOUT,
        default: "10",
        meaning: "seconds after which a host that does not answer counts as gone, and the ranks on it",
    },
    Variable {
        name: HOST,
        default: "found out",
        meaning: "for tests: name of the host that this rank is on; ranks with the same one share memory",
    },
    Variable {
        name: LOSS,
        default: "0",
        meaning: "for tests: per cent of the frames from other hosts that are lost on purpose, and a seed, as in 5:42",
    },
    Variable {
        name: STATS,
        default: "none",
        meaning: "file to which every rank appends at its end: rank, messages sent, bytes sent; frames between hosts sent, sent again, repairing others, arrived again, dropped, rejected",
    },
    Variable {
        name: LIB,
        default: "found beside the launcher",
        meaning: "directory that holds libmpi_abi.so.1 and libmpi_abi.a",
    },
    Variable {
        name: CC,
        default: "$MPICH_CC, else cc, gcc or clang",
        meaning: "C compiler behind mpicc, with its own leading options if need be",
    },
    Variable {
        name: CXX,
        default: "$MPICH_CXX, else c++, g++ or clang++",
        meaning: "C++ compiler behind mpicxx, with its own leading options if need be",
    },
    Variable {
        name: GRACE,
        default: "1",
        meaning: "seconds between asking the ranks of an ending job to stop and killing them",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_library() {
        let default = |name: &str| {
            let found = TABLE.iter().find(|variable| variable.name == name);
            found.unwrap().default.to_owned()
        };
        assert_eq!(default(CREDIT), pombo_mpi::header::CREDIT.to_string());
        assert_eq!(default(EAGER_LIMIT), pombo_mpi::header::EAGER.to_string());
    }

    /// Whatever the library checks is described, and the other way round; the README has all of them.
    #[test]
    fn the_tables_agree() {
        let readme = include_str!("../../../README.md");
        let checked = pombo_mpi::settings::TABLE.iter();
        let mut checked: Vec<_> = checked.map(|setting| setting.name).collect();
        let mut described: Vec<_> = TABLE.iter().map(|variable| variable.name).collect();
        checked.sort_unstable();
        described.sort_unstable();
        assert_eq!(checked, described);
        for name in described {
            assert!(readme.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn names_are_unique_and_carry_the_prefix() {
        let mut names: Vec<_> = TABLE.iter().map(|variable| variable.name).collect();
        assert!(names.iter().all(|name| name.starts_with("POMBO_")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }
}
