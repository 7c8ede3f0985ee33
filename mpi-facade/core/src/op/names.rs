//! Names and accepted datatypes of predefined operations.

use crate::constants::*;
use pombo_kernel::text::{Hexadecimal, ToText, WriteText, fill};

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

/// Writes an operation by its name, or by its handle.
pub(crate) struct Shown(pub(crate) Op);

pombo_kernel::text::display_as_text! { Shown }

impl ToText for Shown {
    fn put_text(&self, out: &mut dyn WriteText) {
        match name(self.0) {
            Some(name) => out.write_text(name),
            None => fill!(out, "operation 0x{}", Hexadecimal(self.0.0 as u64, 1)),
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
