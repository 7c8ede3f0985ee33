//! Launchers that start several ranks and speak no PMI-1: each rank would take itself for a whole world, and the
//! program would run that many times. `place` asks before it makes a world of one.

use super::PlaceError;
use crate::environment::number;
use core::ffi::CStr;

/// A variable of such a launcher.
struct Sign {
    variable: &'static CStr,
    /// From this number on there are others: a size of two, or a rank that is not the first.
    several: usize,
    /// Who sets it.
    by: &'static str,
    /// What to start instead.
    instead: &'static str,
}

/// A batch script and a shell in an allocation of Slurm's have no step: programs that they start are alone.
const SIGNS: [Sign; 4] = [
    Sign {
        variable: c"SLURM_STEP_NUM_TASKS",
        several: 2,
        by: "srun",
        instead: "srun --mpi=pmi2",
    },
    Sign {
        variable: c"OMPI_COMM_WORLD_SIZE",
        several: 2,
        by: "the launcher of Open MPI",
        instead: "pombo run, or the mpiexec of MPICH",
    },
    Sign {
        variable: c"PMIX_RANK",
        several: 1,
        by: "a launcher that speaks PMIx",
        instead: "pombo run, or the mpiexec of MPICH",
    },
    Sign {
        variable: c"PMI_SIZE",
        several: 2,
        by: "a launcher that gives no PMI_FD or PMI_PORT",
        instead: "pombo run, or the mpiexec of MPICH",
    },
];

/// Refuses to be alone where a launcher has started others.
#[cold]
pub(super) fn alone() -> Result<(), PlaceError> {
    // What others set and this library cannot read says nothing.
    let count = |sign: &Sign| number(sign.variable).ok().flatten();
    let told = |sign: &&Sign| count(sign).is_some_and(|count| count >= sign.several);
    match SIGNS.iter().find(told) {
        Some(&Sign { by, instead, .. }) => Err(PlaceError::Untold { by, instead }),
        None => Ok(()),
    }
}
