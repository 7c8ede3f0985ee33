//! Tests the launcher from outside: jobs of shell scripts, observed by their output, their exit codes and the processes
//! that remain (none); and the programs that the compiler wrappers make.

#[path = "launcher/build_systems.rs"]
mod build_systems;
#[path = "launcher/compiled.rs"]
mod compiled;
#[path = "launcher/configure.rs"]
mod configure;
#[path = "launcher/ending.rs"]
mod ending;
#[path = "launcher/environment.rs"]
mod environment;
#[path = "launcher/foreign.rs"]
mod foreign;
#[path = "launcher/install.rs"]
mod install;
#[path = "launcher/join.rs"]
mod join;
#[path = "launcher/measure.rs"]
mod measure;
#[path = "launcher/options.rs"]
mod options;
#[path = "launcher/output.rs"]
mod output;
#[path = "launcher/refusals.rs"]
mod refusals;
#[path = "launcher/simulate.rs"]
mod simulate;
#[path = "launcher/statistics.rs"]
mod statistics;
#[path = "launcher/support.rs"]
mod support;
#[path = "launcher/tree.rs"]
mod tree;
