//! Gives the shared library the name under which programs of the standard ABI ask for it.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // Freestanding: no Rust runtime but our own. Not when panics unwind (cargo test), nor when another package of the
    // same build has asked the drivers for the standard library.
    let aborts = std::env::var("CARGO_CFG_PANIC").is_ok_and(|panic| panic == "abort");
    let hosted = std::env::var("DEP_POMBO_NETDRIVERS_STD").is_ok_and(|std| std == "1");
    println!("cargo:rustc-check-cfg=cfg(freestanding)");
    if aborts && !hosted {
        println!("cargo:rustc-cfg=freestanding");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
