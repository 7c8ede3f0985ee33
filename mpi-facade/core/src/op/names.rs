//! Names and accepted datatypes of predefined operations.

use crate::constants::*;
use pombo_kernel::text::{Hexadecimal, ToText, WriteText, fill, line};

/// A line for each predefined operation.
const NAMES: &str = "\
MPI_SUM
MPI_MIN
MPI_MAX
MPI_PROD
MPI_BAND
MPI_BOR
MPI_BXOR
MPI_LAND
MPI_LOR
MPI_LXOR
MPI_MINLOC
MPI_MAXLOC
MPI_REPLACE
MPI_NO_OP
";

/// Returns the standard's name of a predefined operation; `None` for `MPI_OP_NULL` and other handles.
pub const fn name(op: Op) -> Option<&'static str> {
    let place = match op {
        MPI_SUM => 0,
        MPI_MIN => 1,
        MPI_MAX => 2,
        MPI_PROD => 3,
        MPI_BAND => 4,
        MPI_BOR => 5,
        MPI_BXOR => 6,
        MPI_LAND => 7,
        MPI_LOR => 8,
        MPI_LXOR => 9,
        MPI_MINLOC => 10,
        MPI_MAXLOC => 11,
        MPI_REPLACE => 12,
        MPI_NO_OP => 13,
        _ => return None,
    };
    Some(line(NAMES, place))
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
