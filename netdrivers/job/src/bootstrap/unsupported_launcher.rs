//! Detects launchers that start several ranks and do not speak PMI-1: each rank would become a world of one, and the
//! program would run that many times. `bootstrap` checks this before it creates a world of one.

#[cfg(feature = "launchers")]
use super::JobError;
use crate::environment::{variable, whole};
#[cfg(feature = "launchers")]
use alloc::boxed::Box;
use core::ffi::CStr;

/// A launcher that tells its ranks nothing of each other.
pub(super) struct UnsupportedLauncher {
    /// A variable in which it tells the number of ranks.
    variable: &'static CStr,
    found: Found,
}

#[cfg(feature = "launchers")]
const SUPPORTED_LAUNCHERS: &str = "pombo run, or the mpiexec of MPICH";

/// Slurm's variable. A batch script and a shell in an allocation have no step: programs that they start are alone.
const SLURM: UnsupportedLauncher = UnsupportedLauncher {
    variable: c"SLURM_STEP_NUM_TASKS",
    found: Found {
        #[cfg(feature = "launchers")]
        by: "srun started it",
        #[cfg(feature = "launchers")]
        instead: "srun --mpi=pmi2",
    },
};

const OPEN_MPI: UnsupportedLauncher = UnsupportedLauncher {
    variable: c"OMPI_COMM_WORLD_SIZE",
    found: Found {
        #[cfg(feature = "launchers")]
        by: "the launcher of Open MPI started it",
        #[cfg(feature = "launchers")]
        instead: SUPPORTED_LAUNCHERS,
    },
};

const PMI: UnsupportedLauncher = UnsupportedLauncher {
    variable: c"PMI_SIZE",
    found: Found {
        #[cfg(feature = "launchers")]
        by: "a launcher that gives no PMI_FD or PMI_PORT started it",
        #[cfg(feature = "launchers")]
        instead: SUPPORTED_LAUNCHERS,
    },
};

/// PMIx's variables: they tell a rank its number but no size, so the first of many looks like a single one.
const PMIX: [&CStr; 2] = [c"PMIX_RANK", c"PMIX_NAMESPACE"];

/// The variable of PRRTE, which may itself run in a step of Slurm's, whose size is then that of its daemons.
const PRRTE: &CStr = c"PRTE_LAUNCHED";

impl UnsupportedLauncher {
    /// Returns the number of ranks; `None` if the variable is not set or not readable.
    fn ranks(&self) -> Option<usize> {
        whole(self.variable).ok().flatten()
    }
}

/// A launcher that has started other ranks, or may have; a program for one host does not name it.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// What it has done.
    #[cfg(feature = "launchers")]
    by: &'static str,
    /// The launcher to use instead.
    #[cfg(feature = "launchers")]
    instead: &'static str,
}

/// Refuses a world of one if a launcher has started other ranks, or may have.
#[cfg(feature = "launchers")]
#[cold]
pub(super) fn refuse() -> Result<(), Box<JobError>> {
    match find() {
        Some(Found { by, instead }) => Err(Box::new(JobError::ForeignLauncher { by, instead })),
        None => Ok(()),
    }
}

/// Finds such a launcher.
#[cold]
pub(super) fn find() -> Option<Found> {
    let several = |launcher: &&UnsupportedLauncher| launcher.ranks().is_some_and(|ranks| ranks > 1);
    if let Some(launcher) = [SLURM, OPEN_MPI, PMI].iter().find(several) {
        return Some(launcher.found);
    }
    let is_set = |name: &CStr| variable(name).is_some();
    let alone = OPEN_MPI.ranks().or_else(|| match is_set(PRRTE) {
        true => None,
        false => SLURM.ranks(),
    });
    let found = Found {
        #[cfg(feature = "launchers")]
        by: "a launcher that speaks PMIx (PRRTE's prterun, Open MPI) started it",
        #[cfg(feature = "launchers")]
        instead: SUPPORTED_LAUNCHERS,
    };
    (PMIX.into_iter().any(is_set) && alone.is_none()).then_some(found)
}
