//! The predefined reduction operations: which datatypes each accepts, and the loop that applies it.
//!
//! The collectives and `mpi-facade/abi` use them. Operations that a program makes are not here.

mod long_double;
mod loops;
pub(crate) mod names;
mod number;
#[cfg(test)]
mod tests;

use crate::constants::*;
use crate::datatype::{self, Family, Predefined};
use crate::error::{Class, Error, Kind};
use crate::user_buffer::{self, Operand, Region, UserAddress};
use loops::Loop;
pub use names::name;

/// An operation bound to a datatype, ready to run over memory.
#[derive(Clone, Copy, Debug)]
pub struct Reduction(Loop);

impl Reduction {
    /// Applies `inout[i] = input[i] op inout[i]` to the items of both regions, laid out by the datatype's extent; gaps
    /// and padding stay unchanged. The regions may be the same memory, but must not overlap otherwise.
    pub(crate) fn apply(&self, input: &Region, inout: &Region) {
        (self.0)(Operand::of(input), Operand::of(inout));
    }
}

/// Reduces two local buffers, as `MPI_Reduce_local`.
pub fn reduce_local(
    input: UserAddress<'_>,
    inout: UserAddress<'_>,
    count: Count,
    datatype: Datatype,
    op: Op,
) -> Result<(), Error> {
    let items = user_buffer::items(count)?;
    let reduction = reduction(op, datatype)?;
    if items == 0 {
        return Ok(());
    }
    let from = input.checked(count, datatype)?;
    user_buffer::present(inout.pointer(), items)?;
    if input == inout {
        return Err(Error::Argument {
            class: Class::Buffer,
            name: "inbuf",
            must: "other memory than inoutbuf",
        });
    }
    reduction.apply(&from, &inout.region(items, from.shape()));
    Ok(())
}

/// Binds `op` to `datatype` for a reduction; fails where the standard does not allow the pair in one.
pub fn reduction(op: Op, datatype: Datatype) -> Result<Reduction, Error> {
    match is_for_windows_only(op) {
        true => Err(Error::Argument {
            class: Class::Op,
            name: "op",
            must: "another operation: MPI_REPLACE and MPI_NO_OP are for accumulation in windows",
        }),
        false => check(op, datatype),
    }
}

/// Binds `op` to `datatype`, both predefined; fails where the standard does not allow the pair.
fn check(op: Op, datatype: Datatype) -> Result<Reduction, Error> {
    let known = datatype::predefined(datatype).ok_or(Error::Handle {
        kind: Kind::Datatype,
        got: datatype.0,
    })?;
    name(op).ok_or(Error::Handle {
        kind: Kind::Op,
        got: op.0,
    })?;
    if !takes(op, known.family) {
        return Err(Error::Reduction { op, datatype });
    }
    let run = select(op, known).ok_or(Error::Unsupported { name: known.name })?;
    Ok(Reduction(run))
}

/// Returns whether the operation commutes: all that collectives accept do.
pub const fn is_commutative(op: Op) -> bool {
    !is_for_windows_only(op)
}

/// Returns whether only accumulation in windows may use the operation.
pub const fn is_for_windows_only(op: Op) -> bool {
    matches!(op, MPI_REPLACE | MPI_NO_OP)
}

/// Returns whether an operation accepts a family: the standard's table, and logical operations on integers that C and
/// Fortran share.
const fn takes(op: Op, family: Family) -> bool {
    use Family::*;
    match op {
        MPI_MAX | MPI_MIN => matches!(family, CInteger | FortranInteger | MultiLanguage | Floating),
        MPI_SUM | MPI_PROD => matches!(
            family,
            CInteger | FortranInteger | MultiLanguage | Floating | Complex
        ),
        MPI_LAND | MPI_LOR | MPI_LXOR => matches!(family, CInteger | MultiLanguage | Logical),
        MPI_BAND | MPI_BOR | MPI_BXOR => {
            matches!(family, CInteger | FortranInteger | MultiLanguage | Byte)
        }
        MPI_MINLOC | MPI_MAXLOC => matches!(family, Indexed | Twin),
        _ => true,
    }
}

fn select(op: Op, known: &Predefined) -> Option<Loop> {
    let (family, element) = (known.family, known.element);
    match op {
        MPI_MAX => loops::max(element),
        MPI_MIN => loops::min(element),
        MPI_SUM => loops::sum(element),
        MPI_PROD if family == Family::Complex => loops::complex_product(element),
        MPI_PROD => loops::product(element),
        MPI_BAND => Some(loops::bit_and),
        MPI_BOR => Some(loops::bit_or),
        MPI_BXOR => Some(loops::bit_xor),
        MPI_LAND => loops::logical_and(element),
        MPI_LOR => loops::logical_or(element),
        MPI_LXOR => loops::logical_xor(element),
        MPI_MAXLOC if family == Family::Twin => loops::max_place_twin(element),
        MPI_MAXLOC => loops::max_place(element),
        MPI_MINLOC if family == Family::Twin => loops::min_place_twin(element),
        MPI_MINLOC => loops::min_place(element),
        MPI_REPLACE if family == Family::Indexed => loops::replace_pair(element),
        MPI_REPLACE => Some(Operand::replace),
        _ => Some(loops::nothing),
    }
}
