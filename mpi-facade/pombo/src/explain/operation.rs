//! Which algorithm carries out a collective operation, and why: the library's own selection, asked here. Only `explain`
//! uses it.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use pombo_job::environment::EnvironmentCopy;
use pombo_mpi::collective::{
    Algorithm, Conditions, Decision, Operation, Reason, Selection, Selector, TABLE,
};
use serde_json::{Value, json};

use crate::error::Error;
use crate::measure::network_file::NetworkFile;
use crate::run::allowed_cores;
use crate::variables::NETWORK;

/// What is asked about an operation.
#[derive(clap::Args)]
#[group(id = "operation")]
pub(super) struct Options {
    /// Of an operation: the number of ranks [default: 2]
    #[arg(short = 'n', long, value_name = "RANKS", value_parser = clap::value_parser!(u32).range(1..=65536))]
    ranks: Option<u32>,
    /// Of an operation: bytes of the vector, of one block (gather, scatter, alltoall), or of all blocks together
    /// (allgather, reduce_scatter), such as 100, 64K or 1M [default: 8]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    bytes: Option<usize>,
    /// Of an operation: what is between the ranks; each is on a host of its own unless it is shm [default: shm]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(["shm", "udp", "ethernet", "auto"]))]
    net: Option<String>,
    /// Of an operation: the file of `pombo measure` [default: $POMBO_NETWORK]
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// Of an operation: the call that does not block, which goes by messages or multicast
    #[arg(long)]
    nonblocking: bool,
    /// Of an operation: where the network's multicast is not used
    #[arg(long)]
    no_multicast: bool,
}

/// Parses a number of bytes, with K, M or G for powers of 1024.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let unit = units
        .iter()
        .find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, bits)));
    let (number, bits) = unit.unwrap_or((text, &0));
    let number: Option<usize> = number.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << bits))
        .filter(|&bytes| bytes <= 1 << 40)
        .ok_or_else(|| "give a number of bytes up to 1024G, such as 100, 64K or 1M".into())
}

impl Options {
    /// Refuses options of operations where there is none.
    pub(super) fn refuse(&self) -> Result<(), Error> {
        let given = [
            ("--ranks", self.ranks.is_some()),
            ("--bytes", self.bytes.is_some()),
            ("--net", self.net.is_some()),
            ("--network", self.network.is_some()),
            ("--nonblocking", self.nonblocking),
            ("--no-multicast", self.no_multicast),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(Error::Value {
                what: "pombo explain",
                given: (*option).to_owned(),
                want: "this option with the name of a collective operation, not with a process ID",
            }),
        }
    }

    /// Returns the times of messages, if there is a file of them.
    fn times(&self) -> Result<Option<String>, Error> {
        let told = std::env::var_os(NETWORK.name()).filter(|file| !file.is_empty());
        let file = self.network.clone().or(told.map(PathBuf::from));
        let read = |file: PathBuf| Ok(NetworkFile::read(&file)?.compact());
        file.map(read).transpose()
    }
}

/// An algorithm that may carry out the operation.
struct Candidate {
    algorithm: Algorithm,
    /// Its predicted time in nanoseconds.
    cost: Option<u64>,
}

/// Returns how an operation is carried out, as text and as JSON.
pub(super) fn explain(name: &str, options: &Options) -> Result<(String, Value), Error> {
    let choice = TABLE.iter().find(|choice| choice.name() == name);
    let choice = choice.ok_or_else(|| Error::NoOperation {
        given: name.to_owned(),
    })?;
    let ranks = options.ranks.unwrap_or(2) as usize;
    let bytes = options.bytes.unwrap_or(8);
    let net = options.net.as_deref().unwrap_or("shm");
    let several_hosts = net != "shm" && ranks > 1;
    let conditions = Conditions {
        ranks,
        several_hosts,
        shared_memory: !several_hosts && !options.nonblocking && ranks > 1,
        multicast: several_hosts && choice.operation == Operation::Bcast && !options.no_multicast,
        ..Conditions::default()
    };
    let times = options.times()?;
    let selector = Selector::of_environment(
        &EnvironmentCopy::of_now(),
        allowed_cores().len(),
        times.as_deref(),
        net,
    );
    let decision = selector.decide(choice.operation, bytes, conditions);
    let candidates = choice.allowed.iter().map(|&algorithm| Candidate {
        algorithm,
        cost: selector.cost(choice.operation, algorithm, bytes, conditions),
    });
    let candidates: Vec<Candidate> = candidates.collect();
    let heading = format!("{name}, {ranks} ranks, {bytes} bytes, {net}");
    let costs = candidates
        .iter()
        .map(|one| (one.algorithm.name().to_owned(), json!(one.cost)));
    let costs: serde_json::Map<String, Value> = costs.collect();
    let value = json!({
        "operation": name,
        "ranks": ranks,
        "bytes": bytes,
        "net": net,
        "algorithm": decision.algorithm.name(),
        "why": why(choice, decision),
        "predicted_ns": costs,
    });
    Ok((text(&heading, choice, &candidates, decision), value))
}

fn text(heading: &str, choice: &Selection, candidates: &[Candidate], decision: Decision) -> String {
    let mut text = format!("{heading}\n  {:<20} {:>16}\n", "algorithm", "predicted, us");
    for Candidate { algorithm, cost } in candidates {
        let cost = cost.map_or("-".to_owned(), |cost| {
            format!("{:.3}", cost as f64 / 1000.0)
        });
        let mark = if *algorithm == decision.algorithm {
            '*'
        } else {
            ' '
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{mark} {:<20} {cost:>16}", algorithm.name());
    }
    if candidates.iter().all(|one| one.cost.is_none()) {
        text += "nothing is predicted: no file of `pombo measure` has this network, or ranks share cores\n";
    }
    text + &format!("{}: {}\n", decision.algorithm.name(), why(choice, decision))
}

fn why(choice: &Selection, decision: Decision) -> String {
    match decision.reason {
        Reason::Variable => format!("{} says so", choice.variable()),
        Reason::Predicted(time) => format!("least predicted time, {:.3} us", time as f64 / 1000.0),
        Reason::Rule(rule) => format!("by the rule \"{rule}\""),
        Reason::Key => "the communicator's info key says so".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes() {
        for (text, number) in [
            ("0", 0),
            ("100", 100),
            ("64K", 65536),
            ("1M", 1 << 20),
            ("2G", 2 << 30),
            ("1024G", 1 << 40),
        ] {
            assert_eq!(bytes(text), Ok(number), "{text}");
        }
        for wrong in [
            "",
            "K",
            "1T",
            "-1",
            "1.5M",
            "1025G",
            "99999999999999999999",
            "1KK",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
