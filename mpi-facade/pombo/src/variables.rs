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
pub(crate) const SHM_FD: &str = "POMBO_SHM_FD";
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
        name: SHM_FD,
        default: "none",
        meaning: "set by the launcher: descriptor of the memory file that the ranks share",
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
