//! Macros that export functions to C and write their results. Every module that exports functions uses them.

use core::ffi::c_int;
use pombo_mpi::constants::{Count, MPI_UNDEFINED};

/// Defines functions of the C interface. Arguments are checked first (see [`crate::arguments`]). The body is `PMPI_X`;
/// `MPI_X`, which a profiling layer may replace, jumps to it.
///
/// A function without a result type can fail: its body is a `Result<(), CommError>`, and a failure goes to the error
/// handler of the communicator that it names.
///
/// All are unsafe as C functions are: pointers must be what the standard requires. The arguments' types document that
/// requirement, and carry it into [`pombo_mpi`].
macro_rules! mpi {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block
    )*) => {
        $(mpi! { @write_any [$(#[$meta])*] $name($($arg: $type),*) [$($ret)?] $body })*
    };
    (@write_any $meta:tt $name:ident($($arg:ident: $type:ty),*) [] $body:block) => {
        mpi! { @write_any $meta $name($($arg: $type),*) [core::ffi::c_int] {
            // A function without arguments does not use the trait.
            #[allow(unused_imports)]
            use $crate::arguments::Argument;
            let comm = None::<pombo_mpi::constants::Comm>$(.or($arg.communicator()))*;
            $(
                let Some($arg) = $arg.check() else {
                    return $crate::arguments::refuse(text!(stringify!($name), " ", stringify!($arg)), comm);
                };
            )*
            // A function without arguments has no use for it.
            let _ = comm;
            let call = || -> Result<(), pombo_mpi::CommError> { $body };
            match call() {
                Ok(()) => 0,
                Err(failure) => pombo_mpi::errhandler::raise(text!(stringify!($name)), failure),
            }
        } }
    };
    (@write_any [$(#[$meta:meta])*] $name:ident($($arg:ident: $type:ty),*) [$ret:ty] $body:block) => {
        $(#[$meta])*
        #[unsafe(export_name = concat!("P", stringify!($name)))]
        #[inline(never)]
        #[allow(non_snake_case, reason = "the standard's name")]
        unsafe extern "C" fn $name($($arg: $type),*) -> $ret $body

        replaceable! { $name $name }
    };
}

/// `text!(part, ..)`: a text that the linker drops with the function that names it. Constants of 4, 8, 16 or 32 bytes stand
/// together, where it drops none: such a text has a byte behind it.
macro_rules! text {
    ($($part:expr),+) => {
        const { $crate::export::first_of(concat!($($part,)+ " "), concat!($($part,)+ "  ")) }
    };
}

/// Returns a text of which the longer one has two bytes more: see [`text`].
pub(crate) const fn first_of(longer: &'static str, longest: &'static str) -> &'static str {
    let end = longer.len() - 1;
    match longer.len() {
        4 | 8 | 16 | 32 => longest.split_at(end).0,
        _ => longer.split_at(end).0,
    }
}

/// Writes results to C memory: `out!(place = value, ..)`. A place is a checked [`Out`](crate::arguments::Out).
macro_rules! out {
    ($($place:ident = $value:expr),+ $(,)?) => {$({
        let value = $value;
        pombo_mpi::c_arguments::OutPointer::set($place, value);
    })+};
}

/// Converts a number to C's `int`; `MPI_UNDEFINED` where there is none or it is too large.
pub(crate) fn int(number: Option<u64>) -> c_int {
    number
        .and_then(|number| c_int::try_from(number).ok())
        .unwrap_or(MPI_UNDEFINED)
}

/// Converts a number to `MPI_Count`; `MPI_UNDEFINED` where there is none or it is too large.
pub(crate) fn count(number: Option<u64>) -> Count {
    number
        .and_then(|number| Count::try_from(number).ok())
        .unwrap_or(Count::from(MPI_UNDEFINED))
}
