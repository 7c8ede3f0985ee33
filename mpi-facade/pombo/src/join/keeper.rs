//! `pombo __place`: keeps a place of a job on several hosts for a process that joins. The launcher has Hydra start one for
//! each place, as the last ranks; each tells it where it listens. Once a process has come, it is that process's proxy.
//!
//! It ends with the process that came, or when those with which the job began have ended and nobody has come.

use std::io;
use std::net::TcpStream;
use std::os::unix::process::parent_id;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use pombo_job::{KeptPlace, Withdrawal};

use super::far_listener::{FarListener, Serve};
use super::handshake::{self, Joiner};
use super::hosts_side::HostsSide;
use super::job_file::JobFile;
use super::job_side::JobSide;
use super::proxy::{self, Served};
use super::refusal;
use crate::console::warn;
use crate::error::Error;
use crate::explain::hosts::{enter_place, report_place};
use crate::join_ports::ports_of_environment;

/// Most that have proved that they know the key and wait for an answer; then their threads wait.
const MOST_JOINERS: usize = 8;

/// Most addresses of this host that the launcher is told.
const MOST_ADDRESSES: usize = 8;

/// Time for Hydra to answer who withdraws: less than `KeptPlace::enter` waits before it ends the job because of that answer.
const ANSWER: Duration = Duration::from_millis(50);

/// Keeps a place to its end.
pub(crate) fn main() -> Result<u8, Error> {
    let has_begun = Arc::new(AtomicBool::new(false));
    let reached = enter_place(parent_id()).and_then(|reached| {
        end_unless_begun(&reached.0, Arc::clone(&has_begun))?;
        Ok(reached)
    });
    let kept = KeptPlace::enter().map_err(|error| Error::System {
        doing: "keep a place for a process that joins",
        source: io::Error::other(error.to_string()),
    })?;
    has_begun.store(true, Ordering::Relaxed);
    // Only now can an error end the job: before, the others would wait for this rank for ever.
    let mut side = match reached.and_then(listen) {
        Ok((launcher, listening, joiners)) => HostsSide::new(kept, launcher, listening, joiners),
        Err(error) => {
            warn(&error.to_string());
            kept.abort(1);
            return Ok(1);
        }
    };
    if let Err(error) = keep(&mut side) {
        side.leave(false);
        warn(&format!("rank {}: {error}", side.numbers()[0]));
    }
    Ok(0)
}

/// Ends this process with the connection to the launcher, unless the job has begun by then.
fn end_unless_begun(launcher: &TcpStream, has_begun: Arc<AtomicBool>) -> Result<(), Error> {
    let failed = || Error::system("listen to the launcher");
    let mut launcher = launcher.try_clone().map_err(failed())?;
    // Where the system refuses that, Hydra takes the end for a failure.
    let withdrawal = Withdrawal::new().ok();
    let wait = move || {
        let _ = io::copy(&mut launcher, &mut io::sink());
        if !has_begun.load(Ordering::Relaxed) {
            if let Some(withdrawal) = withdrawal {
                withdrawal.withdraw();
            }
            thread::sleep(ANSWER);
            std::process::exit(0);
        }
    };
    thread::Builder::new()
        .spawn(wait)
        .map(drop)
        .map_err(failed())
}

/// Listens for who joins, and tells the launcher where.
fn listen(
    (launcher, secret): (TcpStream, String),
) -> Result<(TcpStream, (FarListener, Serve), Receiver<Joiner>), Error> {
    let failed = Error::system("listen for who joins");
    let opened = FarListener::open(ports_of_environment()?).map_err(failed)?;
    let (listener, mut addresses) = opened.ok_or(Error::System {
        doing: "listen for who joins",
        source: io::Error::other(
            "this host has no address that others reach, or no port is allowed",
        ),
    })?;
    let file = JobFile::of_several_hosts(Vec::new(), &secret);
    addresses.truncate(MOST_ADDRESSES);
    report_place(&launcher, addresses)?;
    let failed = Error::system("listen to the launcher");
    launcher.set_nonblocking(true).map_err(failed)?;
    let (sender, joiners) = sync_channel(MOST_JOINERS);
    let serve: Serve = Arc::new(move |stream: TcpStream, proves: Arc<TcpStream>| {
        // Who does not know the key has been told.
        if let Ok(Some(joiner)) = handshake::accept(stream, &file) {
            drop(proves);
            let _ = sender.send(joiner);
        }
    });
    Ok((launcher, (listener, serve), joiners))
}

fn keep(side: &mut HostsSide) -> io::Result<()> {
    while !side.has_lost_launcher() {
        side.progress()?;
        if side.is_deserted() && side.leave(true) {
            return Ok(());
        }
        let Some(joiner) = side.next_joiner() else {
            side.wait_alone()?;
            continue;
        };
        if side.is_deserted() {
            let _ = joiner.answer(refusal::OVER);
            continue;
        }
        let served = serve(side, joiner);
        if matches!(served, Ok(Served::Unused)) {
            continue;
        }
        side.leave(false);
        if !matches!(served, Ok(Served::Left)) && !side.has_lost_launcher() {
            let end = "which had joined the running job, has ended without leaving it";
            warn(&format!("rank {}, {end}", side.numbers()[0]));
        }
        return served.map(drop);
    }
    Ok(())
}

/// Gives the place to a process, and serves it to its end.
fn serve(side: &mut HostsSide, joiner: Joiner) -> io::Result<Served> {
    let numbers @ [place, places, _] = side.numbers();
    match joiner.answer(&proxy::answer(numbers, side.fingerprint(), side.limit())) {
        Ok(wire) => proxy::serve(side, [place, places], wire),
        Err(_) => Ok(Served::Unused),
    }
}
