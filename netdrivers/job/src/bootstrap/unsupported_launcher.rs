//! Detects launchers that start several ranks and do not speak PMI-1: each rank would become a world of one, and the
//! program would run that many times. `bootstrap` checks this before it creates a world of one.

use super::JobError;
use crate::environment::{number, variable};
use core::ffi::CStr;

/// A variable in which such a launcher tells the number of ranks.
struct SizeVariable {
    variable: &'static CStr,
    /// The launcher.
    by: &'static str,
    /// The launcher to use instead.
    instead: &'static str,
}

const SUPPORTED_LAUNCHERS: &str = "pombo run, or the mpiexec of MPICH";

/// Slurm's variable. A batch script and a shell in an allocation have no step: programs that they start are alone.
const SLURM: SizeVariable = SizeVariable {
    variable: c"SLURM_STEP_NUM_TASKS",
    by: "srun",
    instead: "srun --mpi=pmi2",
};

const OPEN_MPI: SizeVariable = SizeVariable {
    variable: c"OMPI_COMM_WORLD_SIZE",
    by: "the launcher of Open MPI",
    instead: SUPPORTED_LAUNCHERS,
};

const PMI: SizeVariable = SizeVariable {
    variable: c"PMI_SIZE",
    by: "a launcher that gives no PMI_FD or PMI_PORT",
    instead: SUPPORTED_LAUNCHERS,
};

/// PMIx's variables: they tell a rank its number but no size, so the first of many looks like a single one.
const PMIX: [&CStr; 2] = [c"PMIX_RANK", c"PMIX_NAMESPACE"];

/// The variable of PRRTE, which may itself run in a step of Slurm's, whose size is then that of its daemons.
const PRRTE: &CStr = c"PRTE_LAUNCHED";

impl SizeVariable {
    /// Returns the number of ranks; `None` if the variable is not set or not readable.
    fn read(&self) -> Option<usize> {
        number(self.variable).ok().flatten()
    }
}

/// Refuses a world of one if a launcher has started other ranks, or may have.
#[cold]
pub(super) fn refuse() -> Result<(), JobError> {
    let several = |size: &&SizeVariable| size.read().is_some_and(|ranks| ranks > 1);
    if let Some(SizeVariable { by, instead, .. }) = [SLURM, OPEN_MPI, PMI].iter().find(several) {
        return Err(JobError::ForeignLauncher { by, instead });
    }
    let is_set = |name: &CStr| variable(name).is_some();
    let alone = OPEN_MPI.read().or_else(|| match is_set(PRRTE) {
        true => None,
        false => SLURM.read(),
    });
    match PMIX.into_iter().any(is_set) && alone.is_none() {
        true => Err(JobError::ForeignLauncher {
            by: "a launcher that speaks PMIx (PRRTE's prterun, Open MPI)",
            instead: SUPPORTED_LAUNCHERS,
        }),
        false => Ok(()),
    }
}
