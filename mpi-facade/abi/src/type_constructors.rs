//! The constructors of datatypes, and the functions that tell how one was made. The `int` and `MPI_Count` forms of a
//! function share one body.

use crate::arguments::{Array, Out, null};
use core::ffi::c_int;
use pombo_mpi::c_arguments::InArray;
use pombo_mpi::constants::*;
use pombo_mpi::datatype::{self, Contents, Distributed, Envelope};
use pombo_mpi::error::Error;

/// A number of items, bytes or blocks as C passes it.
trait Number: Copy {
    /// Whether the large-count form of a function has it.
    const LARGE: bool;

    fn number(self) -> i64;
}

impl Number for c_int {
    const LARGE: bool = false;

    fn number(self) -> i64 {
        self.into()
    }
}

impl Number for Count {
    const LARGE: bool = true;

    fn number(self) -> i64 {
        self
    }
}

impl Number for Aint {
    const LARGE: bool = false;

    fn number(self) -> i64 {
        self as i64
    }
}

fn length(count: impl Number) -> Result<usize, Error> {
    let count = count.number();
    usize::try_from(count).map_err(|_| Error::Count { got: count })
}

fn list<T: Number>(
    array: InArray<T>,
    len: usize,
    name: &'static str,
) -> Result<alloc::vec::Vec<i64>, Error> {
    array.list(len, Number::number).ok_or(null(name))
}

const LENGTHS: &str = "array_of_blocklengths";
const DISPLACEMENTS: &str = "array_of_displacements";

/// Defines both forms of a constructor; `$aint` is what the form has for displacements in bytes.
macro_rules! constructors {
    ($($count:ident $aint:ident: $contiguous:ident $vector:ident $hvector:ident $indexed:ident $hindexed:ident
        $indexed_block:ident $hindexed_block:ident $struct:ident $resized:ident $subarray:ident $darray:ident;)*) => {mpi! {$(
        fn $contiguous(count: $count, oldtype: Datatype, newtype: Out<Datatype>) {
            out!(newtype = datatype::contiguous(count.number(), oldtype, $count::LARGE)?);
            Ok(())
        }

        fn $vector(
            count: $count,
            blocklength: $count,
            stride: $count,
            oldtype: Datatype,
            newtype: Out<Datatype>,
        ) {
            let (count, length, stride) = (count.number(), blocklength.number(), stride.number());
            out!(newtype = datatype::vector(count, length, stride, oldtype, $count::LARGE)?);
            Ok(())
        }

        fn $hvector(
            count: $count,
            blocklength: $count,
            stride: $aint,
            oldtype: Datatype,
            newtype: Out<Datatype>,
        ) {
            let (count, length, stride) = (count.number(), blocklength.number(), stride.number());
            out!(newtype = datatype::hvector(count, length, stride, oldtype, $count::LARGE)?);
            Ok(())
        }

        fn $indexed(
            count: $count,
            array_of_blocklengths: InArray<$count>,
            array_of_displacements: InArray<$count>,
            oldtype: Datatype,
            newtype: Out<Datatype>,
        ) {
            let count = length(count)?;
            let lengths = list(array_of_blocklengths, count, LENGTHS)?;
            let displacements = list(array_of_displacements, count, DISPLACEMENTS)?;
            out!(newtype = datatype::indexed(&lengths, &displacements, oldtype, $count::LARGE)?);
            Ok(())
        }

        fn $hindexed(
            count: $count,
            array_of_blocklengths: InArray<$count>,
            array_of_displacements: InArray<$aint>,
            oldtype: Datatype,
            newtype: Out<Datatype>,
        ) {
            let count = length(count)?;
            let lengths = list(array_of_blocklengths, count, LENGTHS)?;
            let displacements = list(array_of_displacements, count, DISPLACEMENTS)?;
            out!(newtype = datatype::hindexed(&lengths, &displacements, oldtype, $count::LARGE)?);
            Ok(())
        }

        fn $indexed_block(
            count: $count,
            blocklength: $count,
            array_of_displacements: InArray<$count>,
            oldtype: Datatype,
            newtype: Out<Datatype>,
        ) {
            let displacements = list(array_of_displacements, length(count)?, DISPLACEMENTS)?;
            let each = blocklength.number();
            out!(newtype = datatype::indexed_block(each, &displacements, oldtype, $count::LARGE)?);
            Ok(())
        }

        fn $hindexed_block(
            count: $count,
            blocklength: $count,
            array_of_displacements: InArray<$aint>,
            oldtype: Datatype,
            newtype: Out<Datatype>,
        ) {
            let displacements = list(array_of_displacements, length(count)?, DISPLACEMENTS)?;
            let each = blocklength.number();
            out!(newtype = datatype::hindexed_block(each, &displacements, oldtype, $count::LARGE)?);
            Ok(())
        }

        fn $struct(
            count: $count,
            array_of_blocklengths: InArray<$count>,
            array_of_displacements: InArray<$aint>,
            array_of_types: InArray<Datatype>,
            newtype: Out<Datatype>,
        ) {
            let count = length(count)?;
            let lengths = list(array_of_blocklengths, count, LENGTHS)?;
            let displacements = list(array_of_displacements, count, DISPLACEMENTS)?;
            let types = array_of_types.list(count, |datatype| datatype).ok_or(null("array_of_types"))?;
            out!(newtype = datatype::structure(&lengths, &displacements, &types, $count::LARGE)?);
            Ok(())
        }

        fn $resized(oldtype: Datatype, lb: $aint, extent: $aint, newtype: Out<Datatype>) {
            let (lower, extent) = (lb.number(), extent.number());
            out!(newtype = datatype::resized(oldtype, lower, extent, $count::LARGE)?);
            Ok(())
        }

        fn $subarray(
            ndims: c_int,
            array_of_sizes: InArray<$count>,
            array_of_subsizes: InArray<$count>,
            array_of_starts: InArray<$count>,
            order: c_int,
            oldtype: Datatype,
            newtype: Out<Datatype>,
        ) {
            let dimensions = length(ndims)?;
            let sizes = list(array_of_sizes, dimensions, "array_of_sizes")?;
            let subsizes = list(array_of_subsizes, dimensions, "array_of_subsizes")?;
            let starts = list(array_of_starts, dimensions, "array_of_starts")?;
            let large = $count::LARGE;
            out!(newtype = datatype::subarray(&sizes, &subsizes, &starts, order, oldtype, large)?);
            Ok(())
        }

        fn $darray(
            size: c_int,
            rank: c_int,
            ndims: c_int,
            array_of_gsizes: InArray<$count>,
            array_of_distribs: InArray<c_int>,
            array_of_dargs: InArray<c_int>,
            array_of_psizes: InArray<c_int>,
            order: c_int,
            oldtype: Datatype,
            newtype: Out<Datatype>,
        ) {
            let dimensions = length(ndims)?;
            let part = Distributed {
                size: size.into(),
                rank: rank.into(),
                sizes: &list(array_of_gsizes, dimensions, "array_of_gsizes")?,
                distributions: &list(array_of_distribs, dimensions, "array_of_distribs")?,
                arguments: &list(array_of_dargs, dimensions, "array_of_dargs")?,
                processes: &list(array_of_psizes, dimensions, "array_of_psizes")?,
                order,
            };
            out!(newtype = datatype::darray(part, oldtype, $count::LARGE)?);
            Ok(())
        }
    )*}};
}

constructors! {
    c_int Aint: MPI_Type_contiguous MPI_Type_vector MPI_Type_create_hvector MPI_Type_indexed
        MPI_Type_create_hindexed MPI_Type_create_indexed_block MPI_Type_create_hindexed_block
        MPI_Type_create_struct MPI_Type_create_resized MPI_Type_create_subarray MPI_Type_create_darray;
    Count Count: MPI_Type_contiguous_c MPI_Type_vector_c MPI_Type_create_hvector_c MPI_Type_indexed_c
        MPI_Type_create_hindexed_c MPI_Type_create_indexed_block_c MPI_Type_create_hindexed_block_c
        MPI_Type_create_struct_c MPI_Type_create_resized_c MPI_Type_create_subarray_c MPI_Type_create_darray_c;
}

mpi! {
    fn MPI_Type_dup(oldtype: Datatype, newtype: Out<Datatype>) {
        out!(newtype = datatype::duplicate(oldtype)?);
        Ok(())
    }

    fn MPI_Type_create_f90_integer(r: c_int, newtype: Out<Datatype>) {
        out!(newtype = datatype::f90_integer(r)?);
        Ok(())
    }

    fn MPI_Type_create_f90_real(p: c_int, r: c_int, newtype: Out<Datatype>) {
        out!(newtype = datatype::f90_real(p, r)?);
        Ok(())
    }

    fn MPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: Out<Datatype>) {
        out!(newtype = datatype::f90_complex(p, r)?);
        Ok(())
    }

    fn MPI_Type_get_envelope(
        datatype: Datatype,
        num_integers: Out<c_int>,
        num_addresses: Out<c_int>,
        num_datatypes: Out<c_int>,
        combiner: Out<c_int>,
    ) {
        let made = datatype::envelope(datatype, false)?;
        out!(
            num_integers = made.integers as c_int,
            num_addresses = made.addresses as c_int,
            num_datatypes = made.datatypes as c_int,
            combiner = made.combiner,
        );
        Ok(())
    }

    fn MPI_Type_get_envelope_c(
        datatype: Datatype,
        num_integers: Out<Count>,
        num_addresses: Out<Count>,
        num_large_counts: Out<Count>,
        num_datatypes: Out<Count>,
        combiner: Out<c_int>,
    ) {
        let made = datatype::envelope(datatype, true)?;
        out!(
            num_integers = made.integers as Count,
            num_addresses = made.addresses as Count,
            num_large_counts = made.counts as Count,
            num_datatypes = made.datatypes as Count,
            combiner = made.combiner,
        );
        Ok(())
    }

    fn MPI_Type_get_contents(
        datatype: Datatype,
        max_integers: c_int,
        max_addresses: c_int,
        max_datatypes: c_int,
        array_of_integers: *mut c_int,
        array_of_addresses: *mut Aint,
        array_of_datatypes: *mut Datatype,
    ) {
        let room = Envelope {
            integers: length(max_integers)?,
            addresses: length(max_addresses)?,
            counts: 0,
            datatypes: length(max_datatypes)?,
            combiner: 0,
        };
        let Contents { integers, addresses, datatypes, .. } = datatype::contents(datatype, false, room)?;
        write(&integers, array_of_integers, "array_of_integers", |number| number as c_int)?;
        write(&addresses, array_of_addresses, "array_of_addresses", |number| number as Aint)?;
        Ok(write(&datatypes, array_of_datatypes, "array_of_datatypes", |datatype| datatype)?)
    }

    fn MPI_Type_get_contents_c(
        datatype: Datatype,
        max_integers: Count,
        max_addresses: Count,
        max_large_counts: Count,
        max_datatypes: Count,
        array_of_integers: *mut c_int,
        array_of_addresses: *mut Aint,
        array_of_large_counts: *mut Count,
        array_of_datatypes: *mut Datatype,
    ) {
        let room = Envelope {
            integers: length(max_integers)?,
            addresses: length(max_addresses)?,
            counts: length(max_large_counts)?,
            datatypes: length(max_datatypes)?,
            combiner: 0,
        };
        let Contents { integers, addresses, counts, datatypes } = datatype::contents(datatype, true, room)?;
        write(&integers, array_of_integers, "array_of_integers", |number| number as c_int)?;
        write(&addresses, array_of_addresses, "array_of_addresses", |number| number as Aint)?;
        write(&counts, array_of_large_counts, "array_of_large_counts", |number| number)?;
        Ok(write(&datatypes, array_of_datatypes, "array_of_datatypes", |datatype| datatype)?)
    }
}

/// Writes a list to an array of the C caller, which has checked that it is long enough.
fn write<T: Copy, U>(
    list: &[T],
    array: *mut U,
    name: &'static str,
    convert: impl Fn(T) -> U,
) -> Result<(), Error> {
    let mut array = Array::of(list.len() as c_int, array, name)?;
    for (index, &element) in list.iter().enumerate() {
        array.set(index, convert(element));
    }
    Ok(())
}
