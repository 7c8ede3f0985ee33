//! Ranks of launchers that do not tell them of each other: they refuse to be that many worlds of one.

use crate::programs::program;
use crate::support::{Outcome, finish};
use std::process::Command;

/// A program without a launcher of ours.
fn start(variables: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(program("p2p"));
    for (name, _) in std::env::vars() {
        if ["POMBO_", "SLURM_", "PMI", "OMPI_"]
            .iter()
            .any(|of| name.starts_with(of))
        {
            command.env_remove(name);
        }
    }
    finish(command.envs(variables.iter().copied()))
}

#[test]
fn one_of_several_is_refused() {
    for (sign, advice) in [
        (("SLURM_STEP_NUM_TASKS", "2"), "srun --mpi=pmi2"),
        (("OMPI_COMM_WORLD_SIZE", "8"), "pombo run"),
        (("PMIX_RANK", "1"), "pombo run"),
        (("PMI_SIZE", "2"), "pombo run"),
    ] {
        let outcome = start(&[sign]);
        assert_ne!(outcome.code, 0, "{sign:?}: {}", outcome.out);
        for word in [advice, "several ranks", "POMBO_SIZE=1"] {
            assert!(outcome.err.contains(word), "{sign:?}: {}", outcome.err);
        }
    }
}

#[test]
fn alone_is_who_is_alone_or_wants_to_be() {
    for variables in [
        &[][..],
        &[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_NTASKS", "4")],
        &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")],
        &[("OMPI_COMM_WORLD_SIZE", "several")],
        &[("PMI_SIZE", "4"), ("POMBO_RANK", "0"), ("POMBO_SIZE", "1")],
    ] {
        let outcome = start(variables);
        let got = (outcome.code, outcome.out.as_str());
        assert_eq!(got, (0, "ok p2p\n"), "{variables:?}: {}", outcome.err);
    }
}
