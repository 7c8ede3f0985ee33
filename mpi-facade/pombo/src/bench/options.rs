//! The options of `pombo bench`. Only `bench` and its modules read them.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;

use super::library;
use super::network_namespaces::Rate;
use crate::error::Error;

/// What `pombo bench` was asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Numbers of ranks, with commas between; what is between two is measured with 2
    #[arg(short = 'n', long = "np", value_name = "RANKS", value_delimiter = ',', default_values_t = [2, 4, 8], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) ranks: Vec<u32>,
    /// Every rank on a host of its own; hosts are namespaces that this command makes, without root
    #[arg(long, conflicts_with_all = ["layers", "check"])]
    pub(super) hosts: bool,
    /// With --hosts: how fast the line is on which broadcasts are measured
    #[arg(
        long,
        value_name = "RATE",
        default_value = "100mbit",
        requires = "hosts"
    )]
    pub(super) shape: Rate,
    /// The same command, where it can make hosts
    #[arg(long, hide = true, requires = "hosts")]
    pub(super) inside: bool,
    /// Our networks, each beside what other libraries have in its place [default: shm; with --hosts:
    /// ethernet,udp]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = PossibleValuesParser::new(library::networks()))]
    pub(super) net: Vec<String>,
    /// With --hosts: also with frames that are authenticated whole, or not at all
    #[arg(long, value_name = "HOW", value_delimiter = ',', requires = "hosts", value_parser = PossibleValuesParser::new(library::AUTH))]
    pub(super) auth: Vec<String>,
    /// Compare with the MPI in this directory, which has bin/mpiexec, and bin/mpicc or the standard
    /// ABI's lib/libmpi_abi.so.1 [also: those in PATH]
    #[arg(long, value_name = "DIR")]
    pub(super) against: Vec<PathBuf>,
    /// Compare with no other library
    #[arg(long, conflicts_with = "against")]
    pub(super) alone: bool,
    /// Measure only what begins so: latency, rate, barrier, launch, ...
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// Tell what driver, kernel, mailboxes and MPI add to a message, instead of comparing libraries; with --against
    /// also whether the machine's own copies reach the targets
    #[arg(long, conflicts_with_all = ["only", "check", "net"])]
    pub(super) layers: bool,
    /// Take a tenth of the time, for rough figures
    #[arg(long)]
    pub(super) quick: bool,
    /// Forbid all libraries to copy from process to process, as containers do
    #[arg(long, conflicts_with_all = ["hosts", "layers"])]
    pub(super) no_cma: bool,
    /// Tell which targets of the project are missed
    #[arg(long)]
    pub(super) check: bool,
    /// With --check: fail if a target is missed
    #[arg(long, requires = "check")]
    pub(super) strict: bool,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the table to this file, as Markdown
    #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
    pub(super) markdown: Option<PathBuf>,
    /// Draw the figures into this file
    #[arg(long, value_name = "FILE.svg")]
    pub(super) plot: Option<PathBuf>,
    /// Directory for the programs
    #[arg(long, value_name = "DIR", default_value = "pombo-bench")]
    pub(super) directory: PathBuf,
}

/// Creates a file for figures, so that an error comes before the measurement.
pub(super) fn create(path: &Path) -> Result<(File, &Path), Error> {
    let file = File::create(path).map_err(Error::file("write", path))?;
    Ok((file, path))
}
