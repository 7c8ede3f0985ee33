//! Tests ported programs on the C library: every program of `tests/c`, compiled by `mpicc` and started by `mpirun`, and
//! the heat solver of `examples/ported`, compared with MPICH where that is installed.

#[path = "launcher/support.rs"]
#[allow(dead_code, reason = "the launcher's own tests use the rest")]
mod support;

#[path = "launcher/message_counts.rs"]
mod message_counts;

#[path = "mpi/adversarial.rs"]
mod adversarial;
#[path = "mpi/bench.rs"]
mod bench;
#[path = "mpi/broadcast.rs"]
mod broadcast;
#[path = "mpi/capture.rs"]
mod capture;
#[path = "mpi/chapters.rs"]
mod chapters;
#[path = "mpi/corners.rs"]
mod corners;
#[path = "mpi/deadlock.rs"]
mod deadlock;
#[path = "mpi/errors.rs"]
mod errors;
#[path = "mpi/foreign_launcher.rs"]
mod foreign_launcher;
#[path = "mpi/heat.rs"]
mod heat;
#[path = "mpi/hydra.rs"]
mod hydra;
#[path = "mpi/link.rs"]
mod link;
#[path = "mpi/miniapps.rs"]
mod miniapps;
#[path = "mpi/network.rs"]
mod network;
#[path = "mpi/peer.rs"]
mod peer;
#[path = "mpi/programs.rs"]
mod programs;
#[path = "mpi/traffic.rs"]
mod traffic;
#[path = "mpi/trees.rs"]
mod trees;
