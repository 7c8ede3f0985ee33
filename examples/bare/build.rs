//! Links the image by its own script, without any library.

fn main() {
    let script = format!("{}/image.ld", env!("CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed={script}");
    for arg in ["-nostdlib", "-nostartfiles", "-static", "-no-pie"] {
        println!("cargo:rustc-link-arg-bin=image={arg}");
    }
    let options = "-Wl,--gc-sections,--build-id=none,-z,max-page-size=64,-z,norelro,-z,noexecstack";
    println!("cargo:rustc-link-arg-bin=image={options},-T{script}");
}
