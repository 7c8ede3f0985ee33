//! Names and accepted datatypes of predefined operations.

use crate::constants::*;
use core::fmt;

/// Returns the standard's name of a predefined operation; `None` for `MPI_OP_NULL` and other handles.
pub const fn name(op: Op) -> Option<&'static str> {
    Some(match op {
        MPI_SUM => "MPI_SUM",
        MPI_MIN => "MPI_MIN",
        MPI_MAX => "MPI_MAX",
        MPI_PROD => "MPI_PROD",
        MPI_BAND => "MPI_BAND",
        MPI_BOR => "MPI_BOR",
        MPI_BXOR => "MPI_BXOR",
        MPI_LAND => "MPI_LAND",
        MPI_LOR => "MPI_LOR",
        MPI_LXOR => "MPI_LXOR",
        MPI_MINLOC => "MPI_MINLOC",
        MPI_MAXLOC => "MPI_MAXLOC",
        MPI_REPLACE => "MPI_REPLACE",
        MPI_NO_OP => "MPI_NO_OP",
        _ => return None,
    })
}

/// Displays an operation by its name, or by its handle.
pub(crate) struct Shown(pub(crate) Op);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "operation {:#x}", self.0.0),
        }
    }
}

/// Describes the datatypes that an operation accepts.
pub(crate) const fn domain(op: Op) -> &'static str {
    match op {
        MPI_MAX | MPI_MIN => "integers and floating-point numbers",
        MPI_SUM | MPI_PROD => "integers, floating-point and complex numbers",
        MPI_LAND | MPI_LOR | MPI_LXOR => "C integers, MPI_AINT and its like, and logical types",
        MPI_BAND | MPI_BOR | MPI_BXOR => "integers and MPI_BYTE",
        MPI_MINLOC | MPI_MAXLOC => "pairs such as MPI_DOUBLE_INT",
        _ => "predefined datatypes",
    }
}
