//! What the ranks of a job wait for: `pombo explain` asks them once, and the launcher does at intervals to find
//! deadlocks, and where a signal wants it to. And which algorithm carries out a collective operation: `pombo explain`
//! says it where it gets an operation's name in place of a number.

pub(crate) mod hosts;
mod inquiry;
mod job_memory;
mod operation;
mod rank_report;
mod text;
mod verdict;
mod watcher;

use std::thread::sleep;

use clap::Args;

use crate::error::Error;
use inquiry::{Inquiry, PATIENCE, POLL_INTERVAL};
use rank_report::RankReport;
use text::text;
pub(crate) use watcher::{Finding, Watcher};

/// Arguments of `pombo explain`.
#[derive(Args)]
pub(crate) struct Options {
    /// Process ID of the launcher of a job on this host, or of a rank; or the name of a collective operation: bcast,
    /// allreduce, ...
    #[arg(value_name = "PID or OPERATION")]
    what: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    operation: operation::Options,
}

/// Prints what the ranks of a job wait for, or how an operation is carried out, as text or JSON.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    let (text, json) = match options.what.parse() {
        Ok(process) => {
            options.operation.refuse()?;
            of_job(process)?
        }
        Err(_) => operation::explain(&options.what, &options.operation)?,
    };
    match options.json {
        true => println!("{json}"),
        false => print!("{text}"),
    }
    Ok(0)
}

/// Returns what the ranks of the job wait for that a process of this host belongs to.
fn of_job(process: u32) -> Result<(String, serde_json::Value), Error> {
    Ok(match hosts::ask(process) {
        Some(survey) => {
            let survey = survey.map_err(Error::system("ask the launcher"))?;
            (survey.text(), serde_json::json!(survey))
        }
        None => {
            let ranks = of_this_host(process)?;
            (text(&ranks), serde_json::json!({ "ranks": ranks }))
        }
    })
}

/// Asks the ranks of the job that a process of this host belongs to.
fn of_this_host(process: u32) -> Result<Vec<RankReport>, Error> {
    let files = job_memory::files(process)?;
    let segment = files.iter().find_map(|file| job_memory::open(file));
    let segment = segment.ok_or(Error::NoJob { process })?;
    let inquiry = Inquiry::begin(&segment);
    loop {
        match inquiry.poll(&segment, PATIENCE) {
            Some(ranks) => return Ok(ranks),
            None => sleep(POLL_INTERVAL),
        }
    }
}
