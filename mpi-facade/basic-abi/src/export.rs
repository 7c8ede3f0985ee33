//! The macro that exports functions to C. Every module that exports functions uses it.

/// Defines functions of the C interface. The body, a `Result<(), FatalError>`, is `PMPI_X`; `MPI_X`, which a profiling layer may
/// replace, jumps to it. An error ends the program, so a function that returns has succeeded.
///
/// All are unsafe as C functions are: pointers must be what the standard requires, for as long as it requires it.
macro_rules! mpi {
    ($(
        fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block
    )*) => {$(
        #[unsafe(export_name = concat!("P", stringify!($name)))]
        #[inline(never)]
        #[allow(non_snake_case, reason = "the standard's name")]
        unsafe extern "C" fn $name($($arg: $type),*) -> core::ffi::c_int {
            let call = || -> Result<(), $crate::errors::FatalError> { $body };
            match call() {
                Ok(()) => 0,
                Err(error) => $crate::errors::end(stringify!($name), error),
            }
        }

        replaceable! { $name $name }
    )*};
}
