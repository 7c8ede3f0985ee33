//! Tests the C library by chapter of the standard: the programs of `tests/c/chapters`, of which each holds many checks.
//! Each also passes with other libraries.

use crate::peer;
use crate::programs::{job, program_in};
use crate::support::{Outcome, pombo};

/// Runs a program on 1 to 4 ranks, and on 3 of which each is a host of its own.
fn conforms(name: &str) {
    for ranks in ["1", "2", "3", "4"] {
        let mut command = pombo(["run", "-n", ranks]);
        passes(name, &job(command.arg(program_in("chapters", name))));
    }
    let mut command = pombo(["run", "-n", "3"]);
    command.arg(program_in("chapters", name)).arg("apart");
    passes(name, &job(command.env("POMBO_NET", "udp")));
}

fn passes(name: &str, outcome: &Outcome) {
    let printed = (outcome.code, outcome.out.as_str());
    let expected = format!("ok {name}\n");
    assert_eq!(printed, (0, expected.as_str()), "{}", outcome.err);
}

/// One test for each program.
macro_rules! chapters {
    ($($name:ident)*) => {
        const CHAPTERS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                conforms(stringify!($name));
            }
        )*
    };
}

chapters! {
    abi_info absolute_addresses attributes buffers communicators datatypes error_handlers f90_types groups grequests info
    intercommunicators neighbours operations pack_external partitioned persistent persistent_collectives replace topologies
}

/// Random nested datatypes equal a map of their bytes: packed, sent in one copy and in many, broadcast, gathered.
#[test]
fn random_types() {
    let run = |ranks, arguments: &[&str], network| {
        let mut command = pombo(["run", "-n", ranks]);
        command.arg(program_in("chapters", "random_types"));
        let outcome = job(command.args(arguments).env("POMBO_NET", network));
        passes("random_types", &outcome);
    };
    run("2", &["1", "50000"], "shm");
    run("2", &["2", "50000", "4000", "corners"], "shm");
    run("3", &["3", "300", "300000", "corners"], "shm");
    run("3", &["4", "1000", "60000", "corners"], "udp");
}

/// What the programs expect is no habit of this library.
#[test]
fn mpich_passes_the_same_programs() {
    let Some(mpich) = peer::mpich_if_compared() else {
        return;
    };
    for &name in CHAPTERS {
        // MPICH has persistent collectives of the standard's names from 4.2 on.
        if name == "persistent_collectives" {
            continue;
        }
        let program = mpich.compile(&format!("tests/c/chapters/{name}.c"));
        for ranks in [1, 3] {
            passes(name, &mpich.finish(ranks, &program));
        }
    }
}
