//! Gives the shared library the name under which programs of the standard ABI ask for it, and finds out whether the
//! standard library comes along with the drivers.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // What a program puts in the place of a function is not for the library's own calls: the linker needs to ask nobody
    // where they go, and says so to nobody at the start of a program.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    // Hosted: another package of the same build has asked the drivers for the standard library. How panics end is for
    // the source to ask: CARGO_CFG_PANIC does not know of the profile.
    println!("cargo:rustc-check-cfg=cfg(hosted)");
    if std::env::var("DEP_POMBO_NETDRIVERS_STD").is_ok_and(|std| std == "1") {
        println!("cargo:rustc-cfg=hosted");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
