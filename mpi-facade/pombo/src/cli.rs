//! The subcommands of `pombo`. `main` calls it unless the name of a link selects another tool.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::error::Error;
use crate::version::VERSION;
use crate::{
    bench, capture, configure, demo, explain, info, install, join, mailbox_table, measure, run,
    setup, simulate, site_jobs, size, tree,
};

/// Run message-passing programs on this machine
///
/// Called as mpirun or mpiexec it is `pombo run`; called as mpicc or mpicxx it is a compiler
/// wrapper. Those names also work as subcommands.
#[derive(Parser)]
#[command(name = "pombo", version = VERSION)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start a program on several ranks; `pombo run -h` tells how
    #[command(disable_help_flag = true)]
    Run {
        #[arg(
            value_name = "OPTIONS AND PROGRAM",
            num_args = 0..,
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        words: Vec<OsString>,
    },
    /// Start a program as a further process of a running job, in a place that `pombo run --spare` has left
    Join(join::Options),
    /// Tell the version, where the library is, and every environment variable
    Info,
    /// Look whether ranks may send raw Ethernet frames, or tell how to allow it
    Setup {
        /// The interface; without it the only one that has a link
        #[arg(value_name = "INTERFACE", default_value = "")]
        interface: String,
    },
    /// Show the frames on a network in words, or put them into a file for Wireshark
    Capture(capture::Options),
    /// Tell what the ranks of a running job wait for, or how a collective operation is carried out, and why
    Explain(explain::Options),
    /// Lay down launcher, compiler wrappers, header and libraries in a directory
    Install {
        /// Directory that gets bin, include and lib
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
        /// Replace files of another MPI library that are there
        #[arg(long)]
        force: bool,
    },
    /// Find the smallest composition of the library that a program needs, and say why
    Configure(configure::Options),
    /// Compile a heat solver in C, run it on 4 ranks, draw a picture
    Demo {
        /// Directory for program, input and picture
        #[arg(long, value_name = "DIR", default_value = "pombo-demo")]
        directory: PathBuf,
        /// Number of ranks
        #[arg(short = 'n', long = "np", value_name = "N", default_value_t = 4)]
        ranks: usize,
    },
    /// Measure messages with our library and with every other MPI that is found
    Bench(bench::Options),
    /// Print what the C library takes in programs that carry it, by composition and part
    Size(size::Options),
    /// Measure what messages cost on a network, and write it to a file
    Measure(measure::Options),
    /// Tell what the buffers of a mailbox take
    Mailbox(mailbox_table::Options),
    /// Print the latency of broadcast trees for given times of a message, and the best tree
    Tree(tree::Options),
    /// Simulate broadcasts over sites, along fixed trees and along a spanning tree that adapts to changes
    Simulate(simulate::Options),
    /// Run programs on hosts of sites, which are network namespaces of this machine
    Sites(site_jobs::Options),
}

/// Parses the command line, without `argv[0]`, and runs the subcommand.
pub(crate) fn main(arguments: &[OsString]) -> Result<u8, Error> {
    let name = OsString::from("pombo");
    let parsed = Cli::try_parse_from(std::iter::once(&name).chain(arguments));
    let cli = parsed.map_err(|error| match (without_run(&error), arguments.first()) {
        (true, Some(word)) => Error::NoSubcommand { word: word.clone() },
        _ => error.into(),
    })?;
    match cli.command {
        Action::Run { words } => run::main("pombo run", &words),
        Action::Join(options) => join::main(&options),
        Action::Info => info::main(),
        Action::Setup { interface } => setup::main(&interface),
        Action::Capture(options) => capture::main(&options),
        Action::Explain(options) => explain::main(&options),
        Action::Install { prefix, force } => install::main(&prefix, force),
        Action::Configure(options) => configure::main(&options, &install::own()?),
        Action::Demo { directory, ranks } => demo::main(&directory, ranks),
        Action::Bench(options) => bench::main(&options),
        Action::Size(options) => size::main(&options),
        Action::Measure(options) => measure::main(&options),
        Action::Mailbox(options) => mailbox_table::main(&options),
        Action::Tree(options) => tree::main(&options),
        Action::Simulate(options) => simulate::main(&options),
        Action::Sites(options) => site_jobs::main(&options),
    }
}

/// Returns whether the first word is neither a subcommand nor an option of `pombo`: maybe a job whose `run` is missing.
fn without_run(error: &clap::Error) -> bool {
    use clap::error::{ContextKind, ErrorKind};
    match error.kind() {
        ErrorKind::InvalidSubcommand => true,
        // The message of a subcommand names it in its usage.
        ErrorKind::UnknownArgument => error
            .get(ContextKind::Usage)
            .is_some_and(|usage| usage.to_string().contains("pombo <COMMAND>")),
        _ => false,
    }
}
