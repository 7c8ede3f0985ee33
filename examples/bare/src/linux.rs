//! The same programs as a process on Linux: over raw Ethernet with the arguments of an image, or as threads of one
//! process with `threads=N`. Raw frames take the right of an administrator, which a user namespace gives.

use pombo_bare::{Failure, Job, Lossy, Report, Reported, Windows, programs};
use pombo_collective::SharedBytes;
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::ethernet::{Address, Ethernet, FrameAddress, MacAddr, Traffic};
use pombo_transport::Reliable;
use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::SystemTime;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name| words.iter().find_map(|word| word.strip_prefix(name));
    let job = match Job::parse(words.iter().map(String::as_str)) {
        Ok(job) => job,
        Err(word) => {
            eprintln!("wrong: {word}");
            return ExitCode::FAILURE;
        }
    };
    let done = match value("threads=").map(str::parse) {
        Some(Ok(count)) => threads(count, &job),
        Some(Err(_)) => Err("threads= takes a number".into()),
        None => ethernet(value("interface=").unwrap_or_default(), &job),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rank {}: {error}", job.rank);
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn threads(count: u16, job: &Job) -> Outcome {
    let ranks = Loopback::world(count).into_iter();
    let ranks: Vec<_> = ranks
        .map(|channel| {
            let job = *job;
            thread::spawn(move || rank(channel, &job, |_, _| ()).map_err(|failure| failure.name()))
        })
        .collect();
    for rank in ranks {
        rank.join().map_err(|_| "a rank panicked")??;
    }
    Ok(())
}

fn ethernet(interface: &str, job: &Job) -> Outcome {
    let address = FrameAddress {
        job: job.number,
        peer: Peer(job.rank),
        traffic: Traffic::Unicast,
    };
    let socket = Ethernet::open(interface, address)?;
    let peers = job.peers.iter().map(|mac| Address {
        mac: MacAddr::from(*mac),
        mtu: 1500,
    });
    let network = socket.join(&peers.collect::<Vec<_>>())?;
    let network = Lossy::new(network, job.loss);
    let channel = Reliable::<_, Windows>::new(network, job.number.into())?;
    Ok(rank(channel, job, Reported::report).map_err(|failure| failure.name())?)
}

fn rank<L: Channel>(channel: L, job: &Job, told: fn(&L, &mut Report<'_>)) -> Result<(), Failure> {
    let mut memory = [0; programs::MEMORY];
    let memory = SharedBytes::new(&mut memory);
    let me = channel.me();
    // Whole lines, each with the rank and the time in front.
    let mut line = Vec::new();
    let mut print = |text: &[u8]| {
        line.extend_from_slice(text);
        if text.ends_with(b"\n") {
            let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            let text = String::from_utf8_lossy(&line);
            let said = write!(
                std::io::stdout(),
                "{:.3} rank {me}: {text}",
                since.as_secs_f64()
            );
            said.expect("the standard output takes a line");
            line.clear();
        }
    };
    pombo_bare::start(|| Ok(channel), memory, job, &mut Report(&mut print), told)
}
