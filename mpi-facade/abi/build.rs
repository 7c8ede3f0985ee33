//! Gives the shared library the name under which programs of the standard ABI ask for it.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // What a program puts in the place of a function is not for the library's own calls: the linker needs to ask nobody
    // where they go, and says so to nobody at the start of a program.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    // Precompiled code refers to the unwinder, which a library that is not optimised as a whole keeps. Release builds need
    // the C library alone.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo:rustc-cdylib-link-arg=-lgcc_s");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
