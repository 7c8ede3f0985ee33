//! The macro by which `MPI_X` jumps to `PMPI_X`, for both C libraries.

/// Makes `MPI_X` jump to another function, with registers and stack unchanged. A jump alone needs no unwind tables, and
/// takes 8 bytes instead of 48.
macro_rules! replaceable {
    ($name:ident $body:path) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = stringify!($name))]
            extern "C" fn replaceable() {
        core::arch::naked_asm!(jump!(), to = sym $body)
            }
        };
    };
}

/// The instruction that jumps to the function `to`.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {to}"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {to}"
    };
}
#[cfg(target_arch = "s390x")]
macro_rules! jump {
    () => {
        "jg {to}"
    };
}
