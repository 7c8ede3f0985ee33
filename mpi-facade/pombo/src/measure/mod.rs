//! `pombo measure`: the times of messages, t_hold and t_end, and of collective operations. `cli` calls it.
//!
//! A C program measures (`measure.c`), compiled by our own `mpicc`, as a program sees messages. Sources: parameterised
//! multicast trees, section 2, for the times of a message; ECCLib, section 5.3.1, for those of collective operations.

mod collectives;
mod fit;
pub(crate) mod network_file;
mod plot;
mod program;
mod validate;

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use pombo_mpi::message_header::EAGER;

use crate::bench::{self, Hosts, Machine, Rate};
use crate::console::{progress, tell};
use crate::error::Error;
use collectives::{RUNS, Spec};
use fit::Point;
use network_file::{Knot, Network, NetworkFile, Sample};
use program::{Program, Setting};
use validate::Case;

/// Part of a time by which a straight piece may miss it.
const TOLERANCE: f64 = 0.1;
/// Samples of every time.
const SAMPLES: u32 = 31;
/// Least number of sends of one t_hold, as in `measure.c`.
const LEAST_SENDS: u32 = 8;

/// What `pombo measure` was asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of ranks: one sends to the others in turn
    #[arg(short = 'n', long = "np", value_name = "RANKS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=64))]
    ranks: u32,
    /// The network [default: shm; with --hosts: auto]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(["shm", "udp", "ethernet", "auto"]))]
    net: Option<String>,
    /// Every rank on a host of its own; hosts are namespaces that this command makes, without root
    #[arg(long)]
    hosts: bool,
    /// With --hosts: how fast the line is [default: without a limit]
    #[arg(long, value_name = "RATE", requires = "hosts")]
    shape: Option<Rate>,
    /// The same command, where it can make hosts
    #[arg(long, hide = true, requires = "hosts")]
    inside: bool,
    /// Sizes of messages in bytes, with commas between
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..=1 << 25))]
    sizes: Vec<u32>,
    /// Samples of every time
    #[arg(long, value_name = "NUMBER", default_value_t = SAMPLES, value_parser = clap::value_parser!(u32).range(1..=1024))]
    samples: u32,
    /// Measure broadcasts along all trees as well, predicted before; draw both into this file, beside which FILE.toml
    /// has the predictions and then all
    #[arg(long, value_name = "FILE.svg")]
    validate: Option<PathBuf>,
    /// With --validate: numbers of ranks, with commas between [default: that of -n]
    #[arg(long, value_name = "RANKS", value_delimiter = ',', requires = "validate", value_parser = clap::value_parser!(u32).range(2..=64))]
    at: Vec<u32>,
    /// With --validate or --collectives: sizes, with commas between
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [64, 1024, 8192, 65536], value_parser = clap::value_parser!(u32).range(..=1 << 25))]
    broadcasts: Vec<u32>,
    /// Measure collective operations too, as the library carries them out by itself
    #[arg(long)]
    collectives: bool,
    /// The file, in which the network's entry is replaced
    #[arg(
        short = 'o',
        long,
        value_name = "FILE",
        default_value = "pombo-network.toml"
    )]
    output: PathBuf,
    /// Measure nothing: print FILE's times of messages as POMBO_NETWORK_TIMES has them where a library is built
    #[arg(long, value_name = "FILE", exclusive = true)]
    print: Option<PathBuf>,
    /// Directory for the program
    #[arg(long, value_name = "DIR", default_value = "pombo-measure")]
    directory: PathBuf,
}

/// Measures, prints the times, and writes the file.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    if let Some(path) = &options.print {
        tell(&NetworkFile::read(path)?.compact());
        return Ok(0);
    }
    let net = network(options)?;
    if let Some(drawing) = &options.validate
        && drawing.with_extension("toml") == options.output
    {
        return Err(Error::Value {
            what: "--validate",
            given: drawing.display().to_string(),
            want: "another name, as the predictions beside the drawing would replace the file of -o",
        });
    }
    if options.hosts && !options.inside {
        return bench::inside();
    }
    // Errors that need no measurement are found first.
    let mut file = match options.output.exists() {
        true => NetworkFile::read(&options.output)?,
        false => NetworkFile::new(Vec::new()),
    };
    let drawing = options.validate.as_deref().map(File::create).transpose();
    let drawing = drawing.map_err(Error::file(
        "write",
        options.validate.clone().unwrap_or_default(),
    ))?;
    let program = Program::compile(&options.directory)?;
    let most = options
        .at
        .iter()
        .fold(options.ranks, |most, &ranks| most.max(ranks));
    let hosts = options
        .hosts
        .then(|| Hosts::make(most as usize))
        .transpose()?;
    let setting = Setting {
        ranks: options.ranks,
        net: &net,
        hosts: hosts.as_ref(),
        times: None,
    };
    let unlimited = match &options.shape {
        Some(_) => Some(measure(&program, &setting, options)?),
        None => None,
    };
    if let Some(hosts) = &hosts {
        hosts.shape_tightly(options.shape)?;
    }
    let network = measure(&program, &setting, options)?;
    tell(&table(&network));
    file.put(network.clone());
    std::fs::write(&options.output, file.text()).map_err(Error::file("write", &options.output))?;
    tell(&format!("written to {}", options.output.display()));
    if options.collectives {
        tell(&own_choices(&program, &setting, options)?);
    }
    if let (Some(drawing), Some(path)) = (drawing, &options.validate) {
        let cases = validate_trees(&program, &setting, options, (&network, unlimited.as_ref()))?;
        tell(&validate::table(&cases));
        let title = format!(
            "Broadcasts: predicted (lines), measured (points, with the least and the most of {RUNS} runs). {}",
            network.measured
        );
        plot::write(&title, &cases, drawing).map_err(Error::file("write", path))?;
    }
    Ok(0)
}

/// Predicts broadcasts along all trees, writes that, measures them, and writes all.
fn validate_trees(
    program: &Program,
    setting: &Setting<'_>,
    options: &Options,
    (network, unlimited): (&Network, Option<&Network>),
) -> Result<Vec<Case>, Error> {
    let own = [options.ranks];
    let ranks = if options.at.is_empty() {
        &own[..]
    } else {
        &options.at
    };
    let cores = Machine::here().cores as u32;
    let mut cases = Vec::new();
    for &ranks in ranks {
        for &bytes in &options.broadcasts {
            let bytes = u64::from(bytes);
            // What a message takes where no line limits it is what processors take for it.
            let processor = unlimited.map_or(1.0, |unlimited| {
                validate::hold(unlimited, bytes) / validate::hold(network, bytes).max(1.0)
            });
            let cores = unlimited.is_none().then_some(cores);
            cases.push(validate::predict(network, ranks, bytes, (cores, processor)));
        }
    }
    let path = options
        .validate
        .clone()
        .unwrap_or_default()
        .with_extension("toml");
    validate::run(&path, &mut cases, |case, specs| {
        progress(&format!(
            "broadcasts of {} bytes on {} ranks\n",
            case.bytes, case.ranks
        ));
        let times = validate::times(network);
        let setting = Setting {
            ranks: case.ranks,
            times: Some(&times),
            ..*setting
        };
        collectives::measure(program, &setting, specs)
    })?;
    validate::write(&path, &cases)?;
    Ok(cases)
}

/// Measures the operations as the library carries them out.
fn own_choices(
    program: &Program,
    setting: &Setting<'_>,
    options: &Options,
) -> Result<String, Error> {
    let names = [
        "barrier",
        "bcast",
        "gather",
        "scatter",
        "reduce",
        "allreduce",
        "allgather",
        "alltoall",
    ];
    let spec = |operation: &&str, bytes: u32| Spec {
        operation: (*operation).to_owned(),
        algorithm: "default".into(),
        bytes: bytes.into(),
    };
    let (empty, others) = names.split_at(1);
    let sized = others.iter().flat_map(|name| {
        options
            .broadcasts
            .iter()
            .map(move |&bytes| spec(name, bytes))
    });
    let specs: Vec<Spec> = empty
        .iter()
        .map(|name| spec(name, 0))
        .chain(sized)
        .collect();
    let times = collectives::measure(program, setting, &specs)?;
    let mut text = format!(
        "{:<12} {:>9} {:>12} {:>25}\n",
        "operation", "bytes", "us", "least to most of runs"
    );
    for (
        Spec {
            operation, bytes, ..
        },
        time,
    ) in specs.iter().zip(times)
    {
        let [median, least, most] = [time.median, time.least, time.most].map(|time| time / 1e3);
        let _ = writeln!(
            text,
            "{operation:<12} {bytes:>9} {median:>12.2} {:>25}",
            format!("{least:.2} to {most:.2}")
        );
    }
    Ok(text)
}

/// Returns the network's name. Refuses those that are impossible: one machine has no Ethernet, and hosts share no
/// memory.
fn network(options: &Options) -> Result<String, Error> {
    let net = options
        .net
        .as_deref()
        .unwrap_or(if options.hosts { "auto" } else { "shm" });
    match (net, options.hosts) {
        ("udp", _) | ("shm", false) | ("ethernet" | "auto", true) => Ok(net.to_owned()),
        (given, hosts) => Err(Error::Value {
            what: "--net",
            given: given.to_owned(),
            want: if hosts {
                "udp, ethernet or auto with --hosts"
            } else {
                "shm or udp, or --hosts as well"
            },
        }),
    }
}

/// The sizes that are measured where none are given: on both sides of the eager limit, and on slow lines no longer
/// than what takes a second.
fn sizes(options: &Options) -> Vec<u32> {
    if !options.sizes.is_empty() {
        let mut sizes = options.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        return sizes;
    }
    let eager = EAGER as u32;
    let all = [
        0,
        64,
        512,
        2048,
        eager,
        eager + 1,
        16 << 10,
        32 << 10,
        64 << 10,
        256 << 10,
        1 << 20,
        4 << 20,
    ];
    // A sample takes some twenty times the message.
    let most = options
        .shape
        .map_or(u32::MAX, |rate| (rate.bytes() * 1e6 / 100.0) as u32);
    all.into_iter()
        .filter(|&size| size <= most.max(eager + 1))
        .collect()
}

fn measure(program: &Program, setting: &Setting<'_>, options: &Options) -> Result<Network, Error> {
    let sizes = sizes(options);
    progress(&format!(
        "measuring {} on {} ranks\n",
        setting.net, setting.ranks
    ));
    let mut arguments = vec!["times".to_owned(), options.samples.to_string()];
    arguments.extend(sizes.iter().map(u32::to_string));
    let lines = program.run(setting, &arguments)?;
    let sample = |line: &String| {
        let (words, [median, low, high]) = program::parse(line, 3)?;
        let bytes = words[2].parse().ok()?;
        let (what, mode) = (words[0].to_owned(), words[1].to_owned());
        Some(Sample {
            what,
            mode,
            bytes,
            median,
            low,
            high,
        })
    };
    let samples: Vec<Sample> = lines.iter().filter_map(sample).collect();
    let median = |what: &str, mode: &str, bytes: u32| {
        let is_it =
            |one: &&Sample| one.what == what && one.mode == mode && one.bytes == u64::from(bytes);
        let found = samples.iter().find(is_it);
        found
            .map(|one| one.median)
            .ok_or_else(|| Error::Measurement {
                why: format!("printed no {what} {mode} {bytes}"),
            })
    };
    let fitted = |mode: &str| {
        let points: Result<Vec<Point>, Error> = sizes
            .iter()
            .map(|&bytes| {
                let times = [
                    median("hold", mode, bytes)?,
                    median("end", mode, bytes)?,
                    median("combine", "sum", bytes)?,
                ];
                Ok(Point {
                    bytes: bytes.into(),
                    times,
                })
            })
            .collect();
        Ok::<_, Error>(fit::knots(&points?, TOLERANCE))
    };
    let ((standard, missed), (synchronous, also)) = (fitted("standard")?, fitted("synchronous")?);
    let machine = Machine::here();
    Ok(Network {
        name: setting.net.to_owned(),
        ranks: setting.ranks,
        measured: format!(
            "{}, {} cores, {} s since 1970: {}",
            machine.name, machine.cores, machine.seconds, machine.command
        ),
        deviation: missed.max(also),
        standard: standard.iter().map(knot).collect(),
        synchronous: synchronous.iter().map(knot).collect(),
        samples,
    })
}

fn knot(point: &Point) -> Knot {
    let [hold, end, combine] = point.times.map(|time| time.round() as u64);
    Knot {
        bytes: point.bytes,
        hold,
        end,
        combine,
    }
}

fn table(network: &Network) -> String {
    let receivers = network.ranks - 1;
    let mut text = format!(
        "{}, {} ranks; nanoseconds, median (quartiles)\n",
        network.name, network.ranks
    );
    if receivers < LEAST_SENDS {
        let _ = writeln!(
            text,
            "{LEAST_SENDS} sends or more go to {receivers} receiver(s) in turn: a t_hold is no less than what a receiver takes for its messages"
        );
    }
    let _ = writeln!(
        text,
        "{:<12} {:>10} {:>32} {:>32}",
        "mode", "bytes", "t_hold", "t_end"
    );
    let spread = |one: &Sample| format!("{:.0} ({:.0} to {:.0})", one.median, one.low, one.high);
    for hold in network.samples.iter().filter(|one| one.what == "hold") {
        let is_its =
            |one: &&Sample| one.what == "end" && (&one.mode, one.bytes) == (&hold.mode, hold.bytes);
        let end = network
            .samples
            .iter()
            .find(is_its)
            .map(spread)
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<12} {:>10} {:>32} {:>32}",
            hold.mode,
            hold.bytes,
            spread(hold),
            end
        );
    }
    let _ = writeln!(
        text,
        "{} pieces for standard sends and {} for synchronous ones, off by at most {:.1} %",
        network.standard.len().saturating_sub(1),
        network.synchronous.len().saturating_sub(1),
        network.deviation * 100.0
    );
    text
}
