//! What the ranks of a job wait for: `pombo explain` asks them once, and the launcher does at intervals to find
//! deadlocks, and where a signal wants it to.

pub(crate) mod hosts;
mod inquiry;
mod job_memory;
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
    /// Process ID of the launcher of a job on this host, or of a rank
    #[arg(value_name = "PID")]
    job: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints what the ranks of a job wait for, as text or JSON.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    let (text, json) = match hosts::ask(options.job) {
        Some(survey) => {
            let survey = survey.map_err(Error::system("ask the launcher"))?;
            (survey.text(), serde_json::json!(survey))
        }
        None => {
            let ranks = of_this_host(options.job)?;
            (text(&ranks), serde_json::json!({ "ranks": ranks }))
        }
    };
    match options.json {
        true => println!("{json}"),
        false => print!("{text}"),
    }
    Ok(0)
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
