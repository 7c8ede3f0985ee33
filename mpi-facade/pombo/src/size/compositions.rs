//! The compositions whose sizes `size` measures, and what a ping-pong must not carry in each.

/// A choice of the library's features.
pub(super) struct Composition {
    pub(super) name: &'static str,
    /// The features of the package `pombo-mpi-abi`, whose Cargo.toml describes them.
    pub(super) features: &'static str,
    /// Beginnings of names of functions that a ping-pong must not carry.
    pub(super) forbids: &'static [&'static str],
}

/// What belongs to several hosts.
const HOSTS: [&str; 6] = [
    "pombo_transport::reliable",
    "pombo_transport::multicast",
    "pombo_netdrivers::udp",
    "pombo_netdrivers::ethernet",
    "x25519_dalek",
    "blake2",
];

/// The compositions, from the smallest to the largest.
pub(super) const COMPOSITIONS: [Composition; 4] = [
    Composition {
        name: "basic",
        features: "",
        forbids: &[
            "core::fmt",
            "pombo_kernel::communicator::rendezvous",
            "pombo_netdrivers::shm::cma::describe",
            "pombo_netdrivers::shm::collective::board",
            "pombo_collective",
            "pombo_mpi::collective",
            "pombo_mpi::op",
            HOSTS[1],
            HOSTS[2],
            "_Unwind",
        ],
    },
    Composition {
        name: "point-to-point",
        features: "rendezvous",
        forbids: &[
            "core::fmt",
            "core::num::flt2dec",
            "pombo_collective",
            "pombo_mpi::collective",
            "pombo_mpi::op",
            "pombo_mpi::datatype::type_layout",
            "pombo_mpi::explanation",
            "pombo_mpi::buffered",
            "pombo_mpi::attribute",
            "pombo_job::bootstrap::pmi",
            "pombo_netdrivers::shm::bootstrap",
            "pombo_netdrivers::shm::collective::board",
            "pombo_mpi::extensions",
            "pombo_job::bootstrap::net_mode",
            HOSTS[0],
            HOSTS[1],
            HOSTS[2],
            HOSTS[3],
            HOSTS[4],
            HOSTS[5],
            "_Unwind",
        ],
    },
    Composition {
        name: "one-host",
        features: "diagnostics,fast-paths,launchers,layouts,rendezvous",
        forbids: &[
            "pombo_mpi::collective::operation",
            "pombo_mpi::op::loops",
            "pombo_mpi::buffered",
            HOSTS[0],
            HOSTS[1],
            HOSTS[2],
            HOSTS[3],
            HOSTS[4],
            HOSTS[5],
            "_Unwind",
        ],
    },
    // All that MPI can do; of a fault in the library itself it says only that there was one.
    Composition {
        name: "everything",
        features: "hosts,fault,diagnostics,fast-paths,layouts,rendezvous,progress-thread",
        forbids: &["_Unwind"],
    },
];
