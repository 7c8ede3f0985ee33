//! The binary `pombo`. The name by which it is called selects the tool: `mpirun` and `mpiexec` are `pombo run`, `mpicc`
//! and `mpicxx` are compiler wrappers, every other name is `pombo` with a subcommand.
#![forbid(unsafe_code)]

mod bench;
mod capture;
mod cli;
mod compiler;
mod configure;
mod console;
mod demo;
mod error;
mod explain;
mod helper;
mod info;
mod install;
mod join;
mod join_ports;
mod library;
mod mailbox_table;
mod measure;
mod mpi_names;
mod ports;
mod procfs;
mod run;
mod setup;
mod simulate;
mod site_jobs;
mod sites;
mod size;
mod small_library;
mod toolchain;
mod tree;
mod variables;
mod version;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use error::Error;
use toolchain::Language;

/// Names of compilers of Fortran, which say how Fortran goes.
const FORTRAN: [&str; 3] = ["mpifort", "mpif90", "mpif77"];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    match dispatch(&called_as(&name), &arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.report();
            ExitCode::from(error.exit_code())
        }
    }
}

/// Returns the last component of `argv[0]`.
fn called_as(name: &OsString) -> String {
    let file = Path::new(name).file_name().unwrap_or_default();
    file.to_string_lossy().into_owned()
}

/// Runs the tool of that name. `pombo mpicc ...` means the same as `mpicc ...`, so trying a tool needs no link.
fn dispatch(name: &str, arguments: &[OsString]) -> Result<u8, Error> {
    match name {
        "mpirun" | "mpiexec" => return run::main(name, arguments),
        "mpicc" => return compiler::main(Language::C, arguments),
        "mpicxx" | "mpic++" | "mpiCC" => return compiler::main(Language::Cxx, arguments),
        name if FORTRAN.contains(&name) => return Err(Error::Fortran),
        _ => {}
    }
    let Some((first, rest)) = arguments.split_first() else {
        return cli::main(arguments);
    };
    match first.to_str() {
        Some(name) if FORTRAN.contains(&name) => Err(Error::Fortran),
        Some("run") => run::main("pombo run", rest),
        Some("mpirun" | "mpiexec" | "mpicc" | "mpicxx" | "mpic++" | "mpiCC") => {
            dispatch(&first.to_string_lossy(), rest)
        }
        Some(run::exec_shim::NAME) => run::exec_shim::main(rest),
        Some(run::exec_shim::NAME_BELOW_HYDRA) => run::exec_shim::main_of_hydra(rest),
        Some(run::exec_shim::NAME_OF_HYDRA) => run::exec_shim::main_for_hydra(rest),
        Some(explain::hosts::KEEPER) => join::keep_place(),
        Some(explain::hosts::NAME) => explain::hosts::main(rest),
        Some(run::guard::NAME) => run::guard::main(),
        Some(bench::burst_broadcast::NAME) => bench::burst_broadcast::main(rest),
        _ => cli::main(arguments),
    }
}
