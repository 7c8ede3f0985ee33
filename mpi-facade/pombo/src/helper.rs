//! Finds the program that opens raw sockets for ranks. `install` copies it, `setup` gives it its capability.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::console::tell;
use crate::error::Error;
use crate::library;

/// The file name; the helper lies beside the launcher.
pub(crate) const HELPER: &str = "pombo-ethernet";

/// Returns the helper if it exists. `cargo run` builds the launcher alone; in that case this function builds the
/// helper.
pub(crate) fn find() -> Result<Option<PathBuf>, Error> {
    let helper = library::executable()?.with_file_name(HELPER);
    if !helper.is_file()
        && let (Some(cargo), Some(package)) = (
            std::env::var_os("CARGO"),
            std::env::var_os("CARGO_MANIFEST_DIR"),
        )
        // The build of another package must not build the helper.
        && std::env::var_os("CARGO_PKG_NAME").is_some_and(|name| name == env!("CARGO_PKG_NAME"))
        && let Some((target, profile)) = target_of(&helper)
    {
        tell(&format!("building {HELPER}"));
        let mut build = Command::new(&cargo);
        build.args(["build", "--quiet", "--bin", HELPER, "--profile", profile]);
        build.arg("--target-dir").arg(target);
        build
            .arg("--manifest-path")
            .arg(Path::new(&package).join("Cargo.toml"));
        // If the build fails, cargo prints the reason, and the helper does not exist.
        build.status().map_err(Error::file("run", cargo))?;
    }
    Ok(Some(helper).filter(|helper| helper.is_file()))
}

/// Returns the target directory and the profile of the build that made this file.
fn target_of(file: &Path) -> Option<(&Path, &str)> {
    let directory = file.parent()?;
    let profile = match directory.file_name()?.to_str()? {
        "debug" => "dev",
        profile => profile,
    };
    Some((directory.parent()?, profile))
}
