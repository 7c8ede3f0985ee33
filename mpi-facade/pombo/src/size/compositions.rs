//! The compositions whose sizes `size` measures, and what a ping-pong must not carry in each.

use crate::small_library::{ABI, BASIC, Package};

/// A library, and a choice of its features.
pub(super) struct Composition {
    pub(super) name: &'static str,
    pub(super) package: Package,
    /// The features of the package, whose Cargo.toml describes them.
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
        package: BASIC,
        features: "",
        forbids: &[
            "core::fmt",
            "core::str",
            "pombo_kernel::communicator::rendezvous",
            "pombo_kernel::communicator::probe",
            "pombo_netdrivers::shm::bootstrap",
            "pombo_netdrivers::shm::channel",
            "pombo_netdrivers::shm::cma",
            "pombo_netdrivers::shm::collective",
            "pombo_netdrivers::shm::long_frames",
            "pombo_netdrivers::shm::mail",
            "pombo_collective::execution",
            "pombo_collective::tree",
            // Of MPI's semantics for everything it has the names of errors and the layout of a status.
            "pombo_mpi::collective",
            "pombo_mpi::comm",
            "pombo_mpi::datatype",
            "pombo_mpi::op",
            "pombo_mpi::p2p",
            "pombo_mpi::runtime",
            "mpi_basic::collectives",
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
        name: "point-to-point",
        package: ABI,
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
        package: ABI,
        features: "diagnostics,fast-paths,launchers,layouts,rendezvous",
        forbids: &[
            "core::fmt",
            "core::str::pattern",
            "pombo_mpi::datatype::type_layout::TypeLayout::of_pieces",
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
    // All that MPI can do; of a fault in the library itself it says only that there was one. Collective calls, and what they
    // alone need, enter with the first function that makes one.
    Composition {
        name: "everything",
        package: ABI,
        features: "hosts,fault,diagnostics,fast-paths,layouts,rendezvous,progress-thread",
        forbids: &[
            "core::fmt",
            "core::net::parser",
            "core::str::pattern",
            "pombo_mpi::datatype::type_layout::TypeLayout::of_pieces",
            "pombo_collective",
            "pombo_mpi::collective::multicast_bcast",
            "pombo_mpi::collective::operation",
            "pombo_mpi::op::loops",
            "pombo_mpi::datatype::constructors",
            "pombo_netdrivers::shm::collective::board",
            "pombo_netdrivers::udp::multicast",
            "pombo_transport::multicast::receiver",
            "pombo_transport::multicast::sender",
            "pombo_transport::multicast::tx",
            "_Unwind",
        ],
    },
];
