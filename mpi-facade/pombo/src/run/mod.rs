//! `pombo run`: from the command line to the exit code of a job. `main` and `demo` call it.

mod arguments;
mod binding;
mod check_variables;
mod config_file;
pub(crate) mod exec_shim;
pub(crate) mod foreign;
mod foreign_options;
pub(crate) mod guard;
mod host_list;
mod hydra_delegation;
mod hydra_job;
mod input;
mod job_segment;
mod library_path;
mod network_times;
mod output;
mod poll;
pub(crate) mod program;
mod rank_process;
mod signals;
mod spawn;
mod statistics;
mod supervise;

use std::ffi::OsString;

use crate::console::warn;
use crate::error::Error;
use crate::join::JoinServer;
pub(crate) use arguments::{Context, OnDeadlock, Request};
use job_segment::Job;
pub(crate) use signals::Signals;
pub(crate) use spawn::allowed_cores;
use statistics::Statistics;
use supervise::Supervisor;
pub(crate) use supervise::kill_timeout;

/// Runs the job that the arguments describe; `name` is the name by which the user called the launcher.
pub(crate) fn main(name: &str, arguments: &[OsString]) -> Result<u8, Error> {
    main_with(name, arguments, |_| ())
}

/// Runs the job that the arguments describe, after a change to it.
pub(crate) fn main_with(
    name: &str,
    arguments: &[OsString],
    change: impl FnOnce(&mut Request),
) -> Result<u8, Error> {
    let mut request = arguments::parse(name, arguments)?;
    host_list::resolve(&mut request)?;
    arguments::check(&request)?;
    network_times::add(&mut request)?;
    check_variables::check(&request)?;
    library_path::add(&mut request)?;
    change(&mut request);
    if !request.stats {
        return start(&request);
    }
    let statistics = Statistics::collect(&mut request)?;
    let code = start(&request);
    statistics.tell();
    code
}

fn start(request: &Request) -> Result<u8, Error> {
    match &request.hosts {
        Some(hosts) => hydra_delegation::launch(request, hosts),
        None => launch(request),
    }
}

/// Runs a job on this machine to its end and returns the launcher's exit code.
pub(crate) fn launch(request: &Request) -> Result<u8, Error> {
    let plan = spawn::plan(request)?;
    if request.report_bindings {
        plan.iter().for_each(|rank| warn(&rank.binding()));
    }
    let kill_timeout = supervise::kill_timeout()?;
    // Signals are blocked first: none may be missed between the start of the first rank and the first read.
    let signals = Signals::block()?;
    let guard = guard::Guard::start()?;
    let places = plan.len() + request.spare;
    let job = Job::create(places)?;
    let joins = request.job_file.as_ref();
    let ports = request.join_ports()?;
    let joins = joins.map(|file| JoinServer::open(file, plan.len(), places, ports));
    let joins = joins.transpose()?;
    let limits = supervise::Limits {
        kill_timeout,
        timeout: arguments::timeout(request)?,
        outlives_ranks: request.recovery,
        on_deadlock: request.on_deadlock,
    };
    let mut supervisor = Supervisor::new(signals, guard, job, joins, limits, request)?;
    for rank in &plan {
        supervisor.start(rank)?;
    }
    supervisor.run()
}
