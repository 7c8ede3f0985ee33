//! What the binary interface leaves open: sizes of integers, and of Fortran's types. Source: MPI 5.0, chapter 20.
//!
//! The sizes of Fortran's types are fixed here, so a program may tell only them. Its functions may be called at any time.

use crate::constants::{Aint, Count, Info, Offset};
use crate::error::{Class, Error};
use crate::info;
use crate::info::list::InfoList;
use crate::runtime::pthread::Global;
use alloc::vec::Vec;
use pombo_job::Text;

/// What the program has told of Fortran.
struct Fortran {
    info: Option<InfoList>,
    /// The sizes of logical types whose values it has told.
    logicals: Vec<usize>,
}

static FORTRAN: Global<Fortran> = Global::new(Fortran {
    info: None,
    logicals: Vec::new(),
});

/// Returns the sizes of this library's integers, as `MPI_Abi_get_info`.
pub fn sizes() -> Info {
    let mut list = InfoList::default();
    for (key, size) in [
        ("mpi_aint_size", size_of::<Aint>()),
        ("mpi_count_size", size_of::<Count>()),
        ("mpi_offset_size", size_of::<Offset>()),
    ] {
        list.set(
            key.as_bytes(),
            Text::<20>::new().put_number(size as i64).as_bytes(),
        );
    }
    info::insert(list)
}

/// Returns what `MPI_Abi_set_fortran_info` has told, as `MPI_Abi_get_fortran_info`; `MPI_INFO_NULL` before that.
pub fn fortran() -> Info {
    let told = FORTRAN.with(|fortran| fortran.info.clone());
    told.map_or(Info::NULL, info::insert)
}

/// The sizes of the types that a Fortran compiler's options can change.
const SIZES: [(&str, &[u8]); 4] = [
    ("mpi_logical_size", b"4"),
    ("mpi_integer_size", b"4"),
    ("mpi_real_size", b"4"),
    ("mpi_double_precision_size", b"8"),
];

/// Tells the properties of Fortran's types, as `MPI_Abi_set_fortran_info`: once, with the sizes of this library.
pub fn set_fortran(info: Info) -> Result<(), Error> {
    for (key, size) in SIZES {
        if info::value(info, key.as_bytes())?.is_some_and(|told| told != size) {
            return Err(wrong(
                "info",
                "with the sizes of this library: mpi_logical_size, mpi_integer_size and mpi_real_size 4, \
                 mpi_double_precision_size 8",
            ));
        }
    }
    let told = info::read(info, InfoList::clone)?;
    FORTRAN.with(|fortran| match &mut fortran.info {
        none @ None => {
            *none = Some(told);
            Ok(())
        }
        Some(_) => Err(wrong("info", "told once")),
    })
}

/// Returns the values of true and false of logical types of that size, as `MPI_Abi_get_fortran_booleans`; `None` before
/// the program has told them.
pub fn booleans(size: usize) -> Result<Option<[Vec<u8>; 2]>, Error> {
    let values = values(size)?;
    Ok(FORTRAN.with(|fortran| fortran.logicals.contains(&size).then_some(values)))
}

/// Tells the values of true and false of logical types, as `MPI_Abi_set_fortran_booleans`: 1 and 0, as the reductions of
/// this library take them.
pub fn set_booleans(told: [Vec<u8>; 2]) -> Result<(), Error> {
    let size = told[0].len();
    if values(size)? != told {
        return Err(wrong(
            "logical_true or logical_false",
            "1 and 0, the values with which this library reduces logical types",
        ));
    }
    FORTRAN.with(|fortran| {
        if !fortran.logicals.contains(&size) {
            fortran.logicals.push(size);
        }
    });
    Ok(())
}

/// Checks the size of a logical type, before its values are read.
pub fn logical_size(size: i32) -> Result<usize, Error> {
    match size {
        1 | 2 | 4 | 8 | 16 => Ok(size as usize),
        _ => Err(Error::Argument {
            class: Class::Arg,
            name: "logical_size",
            must: "1, 2, 4, 8 or 16",
        }),
    }
}

/// Returns true and false as logical types of that size.
fn values(size: usize) -> Result<[Vec<u8>; 2], Error> {
    let size = logical_size(size as i32)?;
    Ok(
        [1_u128, 0].map(|value| match cfg!(target_endian = "little") {
            true => value.to_le_bytes()[..size].into(),
            false => value.to_be_bytes()[16 - size..].into(),
        }),
    )
}

const fn wrong(name: &'static str, must: &'static str) -> Error {
    Error::Argument {
        class: Class::Abi,
        name,
        must,
    }
}
