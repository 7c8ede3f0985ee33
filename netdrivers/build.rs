//! Passes on whether these drivers use the standard library: Cargo unites features, so a package in the same build may
//! have asked for it, and `mpi-facade/abi` must not bring a second runtime then.

fn main() {
    let std = std::env::var_os("CARGO_FEATURE_STD").is_some();
    println!("cargo:std={}", u8::from(std));
    println!("cargo:rerun-if-changed=build.rs");
}
