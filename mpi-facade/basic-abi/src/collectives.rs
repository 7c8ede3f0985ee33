//! Collective communication. Source: MPI 5.0, sections 6.3, 6.4 and 6.9. Longer data goes in pieces of one message.

use crate::arguments::{Buffer, check, size_of};
use crate::errors::FatalError;
use crate::world::{World, world};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use pombo_basic::{Combining, Operator, SharedBytes};
use pombo_mpi::constants::*;
use pombo_mpi::message_header::EAGER;
use zerocopy::{FromBytes, IntoBytes};

mpi! {
    fn MPI_Barrier(comm: Comm) {
        check(comm)?;
        Ok(world()?.barrier()?)
    }

    fn MPI_Bcast(buffer: Buffer, count: c_int, datatype: Datatype, root: c_int, comm: Comm) {
        check(comm)?;
        let world = world()?;
        let root = root_of(world, root)?;
        bcast(world, buffer.bytes(count, datatype)?, root)
    }

    fn MPI_Reduce(
        sendbuf: Buffer,
        recvbuf: Buffer,
        count: c_int,
        datatype: Datatype,
        op: Op,
        root: c_int,
        comm: Comm,
    ) {
        check(comm)?;
        let world = world()?;
        let root = root_of(world, root)?;
        let is_root = world.rank() == root;
        let output = match is_root {
            true => recvbuf.bytes(count, datatype)?,
            false => SharedBytes::nothing(),
        };
        let input = match is_root && sendbuf.is_in_place() {
            true => output,
            false => sendbuf.bytes(count, datatype)?,
        };
        reduce(world, input, output, Reduction::of(op, datatype)?, root)
    }

    fn MPI_Allreduce(
        sendbuf: Buffer,
        recvbuf: Buffer,
        count: c_int,
        datatype: Datatype,
        op: Op,
        comm: Comm,
    ) {
        check(comm)?;
        let (world, output) = (world()?, recvbuf.bytes(count, datatype)?);
        let input = match sendbuf.is_in_place() {
            true => output,
            false => sendbuf.bytes(count, datatype)?,
        };
        reduce(world, input, output, Reduction::of(op, datatype)?, 0)?;
        bcast(world, output, 0)
    }
}

/// Bytes of a piece, which every item's size divides.
const PIECE: usize = EAGER;

fn root_of(world: &World, root: c_int) -> Result<usize, FatalError> {
    let root = usize::try_from(root).ok();
    let root = root.filter(|root| *root < world.size());
    root.ok_or(FatalError::Root)
}

fn bcast(world: &mut World, data: SharedBytes<'static>, root: usize) -> Result<(), FatalError> {
    for at in (0..data.len().max(1)).step_by(PIECE) {
        world.bcast(data.part(at, at + PIECE), root)?;
    }
    Ok(())
}

fn reduce(
    world: &mut World,
    input: SharedBytes<'static>,
    output: SharedBytes<'static>,
    reduction: Reduction,
    root: usize,
) -> Result<(), FatalError> {
    for at in (0..input.len().max(1)).step_by(PIECE) {
        let (from, into) = (input.part(at, at + PIECE), output.part(at, at + PIECE));
        world.reduce(from, into, scratch(), reduction, root)?;
    }
    Ok(())
}

/// Memory for what a reduction receives and adds up.
struct Scratch(UnsafeCell<[u8; 2 * PIECE]>);

// SAFETY: one thread at a time calls MPI, as it was granted.
unsafe impl Sync for Scratch {}

fn scratch() -> SharedBytes<'static> {
    static SCRATCH: Scratch = Scratch(UnsafeCell::new([0; 2 * PIECE]));
    // SAFETY: one thread at a time calls MPI, as it was granted, and what a reduction lends of the memory comes back before
    // it returns, so no other reference is in use.
    SharedBytes::new(unsafe { &mut *SCRATCH.0.get() })
}

/// An operation on numbers of one type.
#[derive(Clone, Copy)]
struct Reduction {
    combine: fn(SharedBytes<'_>, SharedBytes<'_>),
}

impl Reduction {
    fn of(op: Op, datatype: Datatype) -> Result<Self, FatalError> {
        let combine = match datatype {
            MPI_INT | MPI_INT32_T => combine::<i32>(op),
            MPI_LONG | MPI_LONG_LONG | MPI_INT64_T => combine::<i64>(op),
            MPI_FLOAT => combine::<f32>(op),
            MPI_DOUBLE => combine::<f64>(op),
            _ => None,
        };
        size_of(datatype)?;
        Ok(Reduction {
            combine: combine.ok_or(FatalError::Op)?,
        })
    }
}

impl Operator for Reduction {
    fn combine(&self, left: SharedBytes<'_>, right: SharedBytes<'_>) {
        (self.combine)(left, right);
    }
}

/// A number of C.
trait Number: FromBytes + IntoBytes + PartialOrd + 'static {
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($type:ty: $add:expr, $multiply:expr;)*) => {$(
        impl Number for $type {
            fn add(self, other: Self) -> Self {
                $add(self, other)
            }

            fn multiply(self, other: Self) -> Self {
                $multiply(self, other)
            }
        }
    )*};
}

numbers! {
    i32: i32::wrapping_add, i32::wrapping_mul;
    i64: i64::wrapping_add, i64::wrapping_mul;
    f32: core::ops::Add::add, core::ops::Mul::mul;
    f64: core::ops::Add::add, core::ops::Mul::mul;
}

fn combine<T: Number>(op: Op) -> Option<fn(SharedBytes<'_>, SharedBytes<'_>)> {
    Some(match op {
        MPI_SUM => |left, right| Combining::by(T::add).combine(left, right),
        MPI_PROD => |left, right| Combining::by(T::multiply).combine(left, right),
        MPI_MIN => |left, right| {
            let least = |a: T, b: T| if a < b { a } else { b };
            Combining::by(least).combine(left, right);
        },
        MPI_MAX => |left, right| {
            let most = |a: T, b: T| if a > b { a } else { b };
            Combining::by(most).combine(left, right);
        },
        _ => return None,
    })
}
