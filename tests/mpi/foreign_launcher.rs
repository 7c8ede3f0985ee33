//! Tests ranks of launchers that do not tell them of each other: they refuse to run as that many worlds of one.

use crate::programs::program;
use crate::support::{Outcome, finish};
use std::process::Command;

/// Runs a program without our launcher.
fn start(variables: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(program("p2p"));
    for (name, _) in std::env::vars() {
        if ["POMBO_", "SLURM_", "PMI", "OMPI_", "PRTE_"]
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

/// PMIx tells the number of ranks only to a process that queries its server: rank 0 of two finds the same variables as
/// rank 0 of one. These are from `prterun -n 2` of PRRTE 3, as Open MPI 5.0.11 has it.
#[test]
fn every_rank_of_prterun_is_refused() {
    let place = "prterun-host-24061@0.0;tcp4://127.0.0.1:59553";
    for rank in ["0", "1"] {
        for slurm in [&[][..], &[("SLURM_STEP_NUM_TASKS", "1")]] {
            let prterun = [
                ("PMIX_RANK", rank),
                ("PMIX_NAMESPACE", "prterun-host-24061@1"),
                ("PMIX_SERVER_URI2", place),
                ("PMIX_SERVER_URI41", place),
                ("PMIX_SECURITY_MODE", "native"),
                ("PMIX_VERSION", "5.0.11rc1"),
                ("PRTE_LAUNCHED", "1"),
            ];
            let outcome = start(&[slurm, &prterun].concat());
            assert_ne!(outcome.code, 0, "rank {rank}: {}", outcome.out);
            for word in [&format!("rank {rank} "), "prterun", "pombo run"] {
                assert!(outcome.err.contains(word), "rank {rank}: {}", outcome.err);
            }
        }
    }
}

#[test]
fn alone_is_who_is_alone_or_wants_to_be() {
    for variables in [
        &[][..],
        &[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_NTASKS", "4")],
        &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")],
        &[("SLURM_STEP_NUM_TASKS", "1"), ("PMIX_RANK", "0")],
        &[("OMPI_COMM_WORLD_SIZE", "several")],
        &[("PMI_SIZE", "4"), ("POMBO_RANK", "0"), ("POMBO_SIZE", "1")],
    ] {
        let outcome = start(variables);
        let got = (outcome.code, outcome.out.as_str());
        assert_eq!(got, (0, "ok p2p\n"), "{variables:?}: {}", outcome.err);
    }
}
