//! The program that opens raw sockets for ranks: where it is. `install` takes it along, `setup` gives it its right.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::console::tell;
use crate::error::Error;
use crate::library;

/// It lies beside the launcher.
pub(crate) const HELPER: &str = "pombo-ethernet";

/// The program, if it is there. `cargo run` builds the launcher alone: started by it, this builds the other one too.
pub(crate) fn find() -> Result<Option<PathBuf>, Error> {
    let helper = library::executable()?.with_file_name(HELPER);
    if !helper.is_file()
        && let (Some(cargo), Some(package)) = (
            std::env::var_os("CARGO"),
            std::env::var_os("CARGO_MANIFEST_DIR"),
        )
        // Not from the build of another package.
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
        // If it fails, cargo says why, and the program is not there.
        build.status().map_err(Error::file("run", cargo))?;
    }
    Ok(Some(helper).filter(|helper| helper.is_file()))
}

/// The directory and the profile of the build that this file belongs to.
fn target_of(file: &Path) -> Option<(&Path, &str)> {
    let directory = file.parent()?;
    let profile = match directory.file_name()?.to_str()? {
        "debug" => "dev",
        profile => profile,
    };
    Some((directory.parent()?, profile))
}
