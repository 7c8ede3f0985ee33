//! `pombo sites`: real jobs over hosts of sites, which are network namespaces of this machine. `cli` calls it.
//!
//! Delays are injected by the library on every rank, as `POMBO_FAULT_DELAY` says; rates are those of the virtual cables.

mod placement;
mod plot;
mod run;
mod trace;
mod traces;

use clap::{Args, Subcommand};

use crate::error::Error;

/// The options of `pombo sites`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start a program on the hosts of a file of sites, one rank on each unless -n says otherwise
    Run(run::Options),
    /// Compare an adaptive tree with static ones while links change, by traces from seeds
    Traces(traces::Options),
}

/// Runs the subcommand.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    match &options.action {
        Action::Run(options) => run::main(options),
        Action::Traces(options) => traces::main(options),
    }
}
