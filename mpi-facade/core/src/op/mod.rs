//! Reduction operations, bound to the datatypes to which they apply.
//!
//! A predefined one is a loop for a machine type; one of the program is a function that MPI calls.

#[cfg_attr(not(target_arch = "x86_64"), path = "long_double_quad.rs")]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x"))]
mod long_double;
mod loops;
pub(crate) mod names;
mod number;
#[cfg(test)]
mod tests;
mod user_operations;
mod user_reduction;
mod vector_loops;

use crate::constants::*;
use crate::datatype::{self, Datatypes, Family, Predefined};
use crate::error::{Class, Error, Kind};
use crate::objects::Objects;
use crate::runtime::world::{self, CommError};
use crate::user_buffer::{Operand, Region, UserAddress};
use loops::Loop;
pub use names::name;
pub use user_operations::UserFunction;
pub(crate) use user_operations::UserOperations;
use user_operations::{UserOperation, unknown};
use user_reduction::UserReduction;

/// An operation bound to a datatype, ready to run over memory.
#[derive(Clone)]
pub(crate) struct Reduction(Bound);

#[derive(Clone)]
enum Bound {
    /// With the bytes of an item.
    Predefined(Loop, usize),
    User(UserReduction),
}

impl Reduction {
    /// Applies `inout[i] = input[i] op inout[i]` to the items of both regions, laid out by the datatype's extent; gaps
    /// and padding stay unchanged. The regions may be the same memory, but must not overlap otherwise.
    pub(crate) fn apply(&self, objects: &mut Objects, input: &Region, inout: &Region) {
        match &self.0 {
            Bound::Predefined(..) => self.apply_predefined(input, inout, inout),
            Bound::User(reduction) => reduction.apply(objects, input, inout),
        }
    }

    /// Applies `into[i] = left[i] op right[i]`, as [`Reduction::apply`] does, for reductions of which
    /// [`Reduction::item_on_boards`] knows the items. The result may be the memory of either operand.
    #[inline]
    pub(crate) fn apply_predefined(&self, left: &Region, right: &Region, into: &Region) {
        if let Bound::Predefined(run, _) = self.0 {
            run(Operand::of(left), Operand::of(right), Operand::of(into));
        }
    }

    /// Returns the bytes of an item if payloads in shared memory can be combined: contiguous items and a predefined
    /// operation, as functions of the program may require what those payloads are not, such as alignment.
    #[inline]
    pub(crate) fn item_on_boards(&self, region: &Region) -> Option<usize> {
        match self.0 {
            Bound::Predefined(_, item) => region.is_dense().then_some(item),
            Bound::User(_) => None,
        }
    }

    /// Returns whether operands may be combined in another order than that of the ranks.
    #[inline]
    pub(crate) fn commutes(&self) -> bool {
        match &self.0 {
            Bound::Predefined(..) => true,
            Bound::User(reduction) => reduction.operation.commutes,
        }
    }
}

/// Makes an operation, as `MPI_Op_create`.
pub fn create(function: UserFunction, commutes: bool) -> Result<Op, CommError> {
    world::local(|objects| {
        let operation = UserOperation {
            function,
            commutes,
            is_kept: false,
        };
        Ok(objects.operations.insert(operation))
    })
}

/// Frees an operation, as `MPI_Op_free`. Reductions under way keep it.
pub fn free(op: Op) -> Result<(), CommError> {
    if name(op).is_some() {
        let error = Error::Argument {
            class: Class::Op,
            name: "op",
            must: "one that the program has made: predefined ones are never freed",
        };
        return Err(error.into());
    }
    world::local(|objects| match objects.operations.remove_own(op) {
        Some(_) => Ok(()),
        None => Err(unknown(op).into()),
    })
}

/// Returns whether an operation commutes, as `MPI_Op_commutative`.
pub fn commutes(op: Op) -> Result<bool, CommError> {
    match name(op) {
        Some(_) => Ok(!is_for_windows_only(op)),
        None => world::local(|objects| Ok(objects.operations.get(op)?.commutes)),
    }
}

/// Reduces two local buffers, as `MPI_Reduce_local`.
pub fn reduce_local(
    input: UserAddress<'_>,
    inout: UserAddress<'_>,
    count: Count,
    datatype: Datatype,
    op: Op,
) -> Result<(), CommError> {
    world::local(|objects| {
        let reduction = reduction(objects, op, datatype)?;
        let from = input.checked(&objects.datatypes, count, datatype)?;
        let to = inout.checked(&objects.datatypes, count, datatype)?;
        if input == inout && !from.is_empty() {
            let error = Error::Argument {
                class: Class::Buffer,
                name: "inbuf",
                must: "other memory than inoutbuf",
            };
            return Err(error.into());
        }
        reduction.apply(objects, &from, &to);
        Ok(())
    })
}

/// Binds `op` to `datatype` for a reduction; fails where the standard does not allow the pair in one. Inlined: the result
/// stays in registers. In memory its halves are written one after the other and read together, which waits for all stores
/// before, perhaps to a line that another processor has.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn reduction(objects: &Objects, op: Op, datatype: Datatype) -> Result<Reduction, Error> {
    match usual(op, datatype) {
        Some((run, item)) => Ok(Reduction(Bound::Predefined(run, item))),
        None => other_reduction(objects, op, datatype),
    }
}

/// Returns the loop of a predefined operation for a predefined datatype in C, and the bytes of an item, if a reduction may
/// use the pair.
fn usual(op: Op, datatype: Datatype) -> Option<(Loop, usize)> {
    name(op)?;
    let known = datatype::predefined(datatype)?;
    let suits = !is_for_windows_only(op) && takes(op, known.family);
    select(op, known)
        .filter(|_| suits)
        .map(|run| (run, known.size()))
}

/// Does what [`reduction`] does for other pairs, and refuses those that no reduction may use.
#[inline(never)]
fn other_reduction(objects: &Objects, op: Op, datatype: Datatype) -> Result<Reduction, Error> {
    if !op.is_predefined() {
        return user_reduction(objects, op, datatype);
    }
    match is_for_windows_only(op) {
        true => Err(Error::Argument {
            class: Class::Op,
            name: "op",
            must: "another operation: MPI_REPLACE and MPI_NO_OP are for accumulation in windows",
        }),
        false => check(&objects.datatypes, op, datatype),
    }
}

#[cold]
fn user_reduction(objects: &Objects, op: Op, datatype: Datatype) -> Result<Reduction, Error> {
    let operation = objects.operations.get(op)?;
    Ok(Reduction(Bound::User(UserReduction {
        operation,
        datatype,
        shape: objects.datatypes.shape(datatype)?,
        shared: objects.datatypes.shared(datatype)?,
    })))
}

/// Binds a predefined `op` to `datatype`; fails where the standard does not allow the pair.
fn check(datatypes: &Datatypes, op: Op, datatype: Datatype) -> Result<Reduction, Error> {
    name(op).ok_or(Error::Handle {
        kind: Kind::Op,
        got: op.0,
    })?;
    let known = datatype::predefined(datatype);
    let Some(known) = known.or_else(|| datatype::predefined(datatypes.named(datatype))) else {
        datatypes.shape(datatype)?;
        return Err(Error::Reduction { op, datatype });
    };
    if !takes(op, known.family) {
        return Err(Error::Reduction { op, datatype });
    }
    let run = select(op, known).ok_or(Error::Unsupported { name: known.name() })?;
    Ok(Reduction(Bound::Predefined(run, known.size())))
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
        MPI_SUM => vector_loops::sum(element).or_else(|| loops::sum(element)),
        MPI_PROD if family == Family::Complex => loops::complex_product(element),
        MPI_PROD => loops::product(element),
        MPI_BAND => Some(vector_loops::bit_and),
        MPI_BOR => Some(vector_loops::bit_or),
        MPI_BXOR => Some(vector_loops::bit_xor),
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
