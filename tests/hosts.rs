//! Tests jobs on several hosts: network namespaces with a bridge between them, started by an `mpiexec` of other
//! software. Where the system permits no such hosts, or has no such program, the tests report so and pass.

#[path = "common/hosts.rs"]
mod common;
#[path = "launcher/support.rs"]
#[allow(dead_code, reason = "the launcher's own tests use the rest")]
mod support;

/// Returns the path of the test of that name in this module.
macro_rules! here {
    ($test:ident) => {
        concat!(module_path!(), "::", stringify!($test))
    };
}

#[path = "hosts/begin.rs"]
mod begin;
#[path = "hosts/broadcast.rs"]
mod broadcast;
#[path = "hosts/casts.rs"]
mod casts;
#[path = "hosts/choice.rs"]
mod choice;
#[path = "hosts/explain.rs"]
mod explain;
#[path = "hosts/harness.rs"]
mod harness;
#[path = "hosts/jobs.rs"]
mod jobs;
#[path = "hosts/join.rs"]
mod join;
#[path = "hosts/join_hosts.rs"]
mod join_hosts;
#[path = "hosts/pnet.rs"]
mod pnet;
#[path = "hosts/slurm.rs"]
mod slurm;
#[path = "hosts/wire.rs"]
mod wire;
