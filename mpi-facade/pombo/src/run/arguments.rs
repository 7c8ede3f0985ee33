//! The command line of `pombo run`: options, programs and the `:` between them. Only `run`
//! uses it.
//!
//! MPI users write long options with one dash (`-np 4`), clap expects two. `normalise` finds the end of the options,
//! doubles the dash of long options, and leaves the program and its arguments unchanged.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Command, FromArgMatches, ValueEnum};
use pombo_job::settings::{self, Verdict};

use super::binding::Binding;
use super::config_file;
use super::foreign_options::{self, Meaning};
use crate::console::warn;
use crate::error::Error;
use crate::join_ports::ports_of_environment;
use crate::ports::{MOST_PLACES, MUST as PORTS_MUST, Ports};
use crate::variables;
use crate::version::VERSION;

/// The requested job.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// The parts between `:`, in rank order.
    pub(crate) contexts: Vec<Context>,
    /// Whether every line of output names its rank.
    pub(crate) tag: bool,
    /// What ranks are pinned to.
    pub(crate) bind: Binding,
    /// Whether to print what each rank is pinned to.
    pub(crate) report_bindings: bool,
    /// The rank that gets the launcher's standard input.
    pub(crate) input: Input,
    /// The hosts of the ranks; `None` for this host.
    pub(crate) hosts: Option<Hosts>,
    /// Whether to print statistics of messages and frames at the end.
    pub(crate) stats: bool,
    /// The time limit of the job.
    pub(crate) timeout: Option<Duration>,
    /// Whether the others go on when a rank fails.
    pub(crate) recovery: bool,
    /// What to do when all ranks wait for each other.
    pub(crate) on_deadlock: OnDeadlock,
    /// Whether the user has said how many ranks there are.
    pub(crate) is_counted: bool,
    /// Places for processes that join while the job runs.
    pub(crate) spare: usize,
    /// The file by which they do.
    pub(crate) job_file: Option<PathBuf>,
    /// The ports at which they do from other machines, as the user has said.
    pub(crate) join_ports: Option<Ports>,
    /// The number of ranks on each host.
    pub(crate) per_host: Option<usize>,
    /// For the launcher that starts ranks on other hosts, as it spells them.
    pub(crate) hydra: Vec<OsString>,
}

/// The rank that gets the launcher's standard input; all others read an end of input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    Rank(usize),
    None,
}

impl Default for Input {
    fn default() -> Self {
        Input::Rank(0)
    }
}

/// What the launcher does when all ranks wait for each other.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OnDeadlock {
    #[default]
    Report,
    Abort,
}

/// Hosts, in the forms that another launcher accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Hosts {
    /// A file with a host on every line.
    File(PathBuf),
    /// Names separated by commas.
    List(OsString),
}

/// One program of a job.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) ranks: usize,
    pub(crate) directory: Option<PathBuf>,
    /// Variables added to the launcher's environment; later entries win.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
}

/// Start a program on several ranks
///
/// Long options may be written with one dash or with two. Parts of the command line between
/// ':' are programs of the same job, each with its own -n, -wdir, -env and -x.
#[derive(Args)]
struct Options {
    /// Number of ranks of this program [default: those of all hosts that -H or -f names, else 1]
    #[arg(short = 'n', long = "np", alias = "n", visible_short_alias = 'c', value_name = "N", value_parser = ranks, allow_negative_numbers = true)]
    ranks: Option<usize>,

    /// Directory in which the program starts
    #[arg(
        long = "wdir",
        visible_alias = "wd",
        value_name = "DIR",
        allow_hyphen_values = true
    )]
    directory: Option<PathBuf>,

    /// Set an environment variable for this program
    #[arg(long = "env", num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    env: Vec<OsString>,

    /// Set an environment variable for all programs of the job
    #[arg(long = "genv", num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    genv: Vec<OsString>,

    /// Pass an environment variable on, or set it (all that the launcher has are passed on)
    #[arg(short = 'x', value_name = "NAME[=VALUE]", allow_hyphen_values = true)]
    export: Vec<OsString>,

    /// Pin each rank: none, hwthread or core (rank r to the r-th allowed one, none if there are more ranks), socket or
    /// numa (that of its core); :overload-allowed behind it lets ranks share [default: none]
    #[arg(long = "bind-to", value_name = "WHERE", value_parser = Binding::parse)]
    bind: Option<Binding>,

    /// Tell to which processors each rank is pinned
    #[arg(long = "report-bindings")]
    report_bindings: bool,

    /// Accepted and not needed: more ranks than cores are always allowed
    #[arg(long)]
    oversubscribe: bool,

    /// Begin every line of output with its rank in brackets
    #[arg(short = 'l', long = "tag-output", visible_alias = "prepend-rank")]
    tag: bool,

    /// The rank that gets the launcher's standard input, or none [default: 0]
    #[arg(short = 's', long = "stdin", value_name = "RANK", value_parser = input)]
    input: Option<Input>,

    /// Take the job from a file: a part of it, with options, on each line
    #[arg(long = "configfile", visible_alias = "app", value_name = "FILE")]
    config_file: Option<PathBuf>,

    /// End the job after so many seconds, with exit code 124 [default: $MPIEXEC_TIMEOUT, else never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,

    /// The others go on when a rank fails; the exit code tells of the first that did [default: they are ended]
    #[arg(long = "enable-recovery", visible_alias = "disable-auto-cleanup")]
    recovery: bool,

    /// When all ranks wait for each other: report says so, abort ends the job as well [default: report]
    #[arg(long = "on-deadlock", value_name = "WHAT", value_enum)]
    on_deadlock: Option<OnDeadlock>,

    /// Ranks of each host: their number where -n is not given; for jobs on several hosts
    #[arg(long = "ppn", visible_aliases = ["perhost", "npernode", "grr"], alias = "N", short = 'N', value_name = "N",
          value_parser = ranks, allow_negative_numbers = true)]
    per_host: Option<usize>,

    /// Ranks say how they reach each other (POMBO_VERBOSE=1)
    #[arg(short = 'v', long)]
    verbose: bool,

    /// By what ranks reach each other: auto, shm, udp, udp:ADDRESS, udp:INTERFACE, ethernet or ethernet:INTERFACE
    /// [default: auto]
    #[arg(long = "net", value_name = "WHAT", value_parser = net)]
    net: Option<String>,

    /// Start the ranks on the hosts in this file, one on a line, by the mpiexec of MPICH
    #[arg(
        short = 'f',
        long = "hostfile",
        visible_aliases = ["machinefile", "default-hostfile"],
        value_name = "FILE",
        conflicts_with = "host"
    )]
    hostfile: Option<PathBuf>,

    /// Start the ranks on these hosts, by the mpiexec of MPICH
    #[arg(
        short = 'H',
        long = "host",
        visible_alias = "hosts",
        value_name = "NAME,NAME..."
    )]
    host: Option<OsString>,

    /// Tell at the end what every rank sent and what became of it
    #[arg(long = "stats")]
    stats: bool,

    /// Places for processes that join the running job by `pombo join`, each given once; not for MPI programs, whose world
    /// cannot grow
    #[arg(long = "spare", value_name = "N", requires = "job_file", value_parser = places)]
    spare: Option<usize>,

    /// Write to this file how to join the job, and its key: whoever can read it can join
    #[arg(long = "job-file", value_name = "FILE", requires = "spare")]
    job_file: Option<PathBuf>,

    /// The ports at which processes of other machines join: any, none, one, or a range such as 5000:5010 [default:
    /// $POMBO_JOIN_PORTS, else any]
    #[arg(long = "join-ports", value_name = "PORTS", requires = "spare", value_parser = join_ports)]
    join_ports: Option<Ports>,

    /// The program, looked up in PATH if it has no slash, and its arguments
    #[arg(value_name = "PROGRAM AND ARGUMENTS")]
    program: Vec<OsString>,
}

/// Parses a whole command line, without the name by which the launcher was called.
pub(crate) fn parse(name: &str, arguments: &[OsString]) -> Result<Request, Error> {
    let mut parser = Parser {
        name,
        request: Request::default(),
        everywhere: Vec::new(),
    };
    parser.parts(arguments, true)?;
    let Parser {
        mut request,
        everywhere,
        ..
    } = parser;
    for context in &mut request.contexts {
        context.environment.splice(..0, everywhere.iter().cloned());
    }
    Ok(request)
}

impl Request {
    /// Returns the ports at which processes of other machines join.
    pub(crate) fn join_ports(&self) -> Result<Ports, Error> {
        self.join_ports.map_or_else(ports_of_environment, Ok)
    }
}

/// Checks what only the whole job tells, once its hosts are known.
pub(crate) fn check(request: &Request) -> Result<(), Error> {
    let sizes = request.contexts.iter().map(|context| context.ranks);
    let size = sizes.fold(0, usize::saturating_add);
    if let Some(most) = request.per_host.filter(|most| *most < size)
        && request.hosts.is_none()
    {
        warn(&format!(
            "-ppn {most} is ignored: all {size} ranks are on this host, as -host and -hostfile name no other"
        ));
    }
    if request.spare > 0 && request.hosts.is_some() {
        let ranks = size.saturating_add(request.spare);
        if ranks > MOST_PLACES {
            let most = MOST_PLACES;
            return Err(Error::TooManyRanks { ranks, most });
        }
        if request.join_ports()? == Ports::None {
            return Err(Error::Value {
                what: "--join-ports",
                given: "none".into(),
                want: "ports: processes join a job on several hosts by the network alone",
            });
        }
    }
    let wrong = |given: usize, want| Error::Value {
        what: "--stdin",
        given: given.to_string(),
        want,
    };
    match request.input {
        Input::Rank(rank) if rank >= size => Err(wrong(rank, "a rank of the job, or none")),
        Input::Rank(rank) if rank > 0 && request.hosts.is_some() => Err(wrong(
            rank,
            "0 for a job on several hosts, or redirect the input in the program",
        )),
        _ => Ok(()),
    }
}

/// The job as far as its parts have been parsed.
struct Parser<'a> {
    name: &'a str,
    request: Request,
    /// Variables for all programs.
    everywhere: Vec<(OsString, OsString)>,
}

impl Parser<'_> {
    /// Adds the parts between `:`; a part may name a file unless it stands in one.
    fn parts(&mut self, words: &[OsString], may_name_file: bool) -> Result<(), Error> {
        for part in words.split(|word| word == ":") {
            let request = &mut self.request;
            let options = options(self.name, part, &mut request.hydra)?;
            if let Some(ranks) = options.per_host {
                request.per_host = Some(ranks);
                request
                    .hydra
                    .extend(["-ppn".into(), ranks.to_string().into()]);
            }
            request.is_counted |= options.ranks.is_some();
            request.timeout = request.timeout.or(options.timeout);
            request.recovery |= options.recovery;
            request.on_deadlock = options.on_deadlock.unwrap_or(request.on_deadlock);
            request.tag |= options.tag;
            request.bind = options.bind.unwrap_or(request.bind);
            request.report_bindings |= options.report_bindings;
            request.input = options.input.unwrap_or(request.input);
            request.stats |= options.stats;
            request.spare = options.spare.unwrap_or(request.spare);
            request.job_file = request.job_file.take().or(options.job_file.clone());
            request.join_ports = request.join_ports.or(options.join_ports);
            request.hosts = request.hosts.take().or(options.hosts());
            if options.verbose {
                self.everywhere
                    .push((settings::VERBOSE.name().into(), "1".into()));
            }
            self.everywhere.extend(pairs("-genv", &options.genv)?);
            let net = options.net.as_ref();
            self.everywhere
                .extend(net.map(|net| (settings::NET.name().into(), net.into())));
            match &options.config_file {
                Some(file) => self.file(file, &options.program, may_name_file)?,
                None => {
                    let context = context(self.request.contexts.len(), options)?;
                    self.request.contexts.push(context);
                }
            }
        }
        Ok(())
    }

    /// Adds the parts in a file.
    fn file(&mut self, file: &Path, program: &[OsString], is_allowed: bool) -> Result<(), Error> {
        let wrong = |given: String, want| Error::Value {
            what: "--configfile",
            given,
            want,
        };
        if !is_allowed {
            let given = file.display().to_string();
            return Err(wrong(
                given,
                "a file only on the command line, not in such a file",
            ));
        }
        if let Some(program) = program.first() {
            let given = format!("{} {}", file.display(), program.display());
            return Err(wrong(
                given,
                "the file alone: its lines are the programs of the job",
            ));
        }
        for line in config_file::read(file)? {
            self.parts(&line, false)?;
        }
        Ok(())
    }
}

fn command(name: &str) -> Command {
    Options::augment_args(Command::new("run"))
        .bin_name(name.to_owned())
        .display_name(name.to_owned())
        .version(VERSION)
        .no_binary_name(true)
        .override_usage(format!("{name} {USAGE}"))
        .after_help(AFTER_HELP)
}

impl Options {
    fn hosts(&self) -> Option<Hosts> {
        let file = self.hostfile.clone().map(Hosts::File);
        file.or(self.host.clone().map(Hosts::List))
    }
}

const USAGE: &str = "[OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...";

const AFTER_HELP: &str = "\
Exit code: that of the first rank that failed, 128+N if signal N ended it; 1 for wrong usage,
126 for a program that cannot be run, 127 for a program that is not there.";

/// Parses the options of one part; options that only Hydra takes go to `hydra`.
fn options(name: &str, words: &[OsString], hydra: &mut Vec<OsString>) -> Result<Options, Error> {
    let mut command = command(name);
    command.build();
    let words = normalise(&command, words, hydra)?;
    let matches = command.try_get_matches_from(words)?;
    Ok(Options::from_arg_matches(&matches)?)
}

fn context(index: usize, options: Options) -> Result<Context, Error> {
    let mut environment = pairs("-env", &options.env)?;
    for word in &options.export {
        environment.extend(exported(word)?);
    }
    let mut words = options.program.into_iter();
    Ok(Context {
        ranks: options.ranks.or(options.per_host).unwrap_or(1),
        directory: options.directory,
        environment,
        program: words.next().ok_or(Error::NoProgram { context: index })?,
        arguments: words.collect(),
    })
}

fn ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("a job needs at least 1 rank".into()),
        Ok(ranks) => Ok(ranks),
        Err(_) => Err("give a whole number, 1 or more".into()),
    }
}

fn places(text: &str) -> Result<usize, String> {
    let places = text.parse().ok().filter(|places| *places > 0);
    places.ok_or_else(|| "give a whole number, 1 or more".into())
}

fn join_ports(text: &str) -> Result<Ports, String> {
    text.parse().map_err(|()| format!("give {PORTS_MUST}"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "give seconds, more than 0".into())
}

/// The variable by which other launchers learn the time limit.
pub(super) const TIMEOUT: &str = "MPIEXEC_TIMEOUT";

/// Returns the time limit of the job: the option, or the variable that other launchers read too.
pub(super) fn timeout(request: &Request) -> Result<Option<Duration>, Error> {
    match (request.timeout, std::env::var(TIMEOUT)) {
        (Some(time), _) => Ok(Some(time)),
        (None, Ok(text)) if !text.is_empty() => match seconds(&text) {
            Ok(time) => Ok(Some(time)),
            Err(_) => Err(Error::Value {
                what: TIMEOUT,
                given: text,
                want: "seconds, more than 0",
            }),
        },
        (None, _) => Ok(None),
    }
}

fn input(text: &str) -> Result<Input, String> {
    match text {
        "none" => Ok(Input::None),
        "all" => Err(
            "one rank takes the input: let it pass the data on, or let every rank open the file"
                .into(),
        ),
        text => match text.parse() {
            Ok(rank) => Ok(Input::Rank(rank)),
            Err(_) => Err("give a rank or none".into()),
        },
    }
}

/// Checks a value of `POMBO_NET`; the ranks find out whether the address exists.
fn net(text: &str) -> Result<String, String> {
    match variables::check(settings::NET.name(), Some(text)) {
        Verdict::Wrong { must, .. } => Err(format!("give {must}")),
        _ => Ok(text.into()),
    }
}

fn pairs(option: &'static str, words: &[OsString]) -> Result<Vec<(OsString, OsString)>, Error> {
    words
        .chunks_exact(2)
        .map(|pair| Ok((variable(option, &pair[0])?, pair[1].clone())))
        .collect()
}

/// Parses the value of `-x`. `NAME=VALUE` sets a variable; `NAME` is only checked, because ranks inherit the
/// environment anyway.
fn exported(word: &OsStr) -> Result<Option<(OsString, OsString)>, Error> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = word.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => {
            let name = variable("-x", OsStr::from_bytes(&bytes[..at]))?;
            Ok(Some((name, OsStr::from_bytes(&bytes[at + 1..]).into())))
        }
        None => {
            let name = variable("-x", word)?;
            if std::env::var_os(&name).is_none() {
                let name = name.display();
                warn(&format!(
                    "-x {name}: not set here, so the ranks lack it too; write -x {name}=VALUE"
                ));
            }
            Ok(None)
        }
    }
}

fn variable(what: &'static str, name: &OsStr) -> Result<OsString, Error> {
    let bytes = name.as_encoded_bytes();
    if bytes.is_empty() || bytes.contains(&b'=') {
        return Err(Error::Value {
            what,
            given: name.to_string_lossy().into_owned(),
            want: "the name of an environment variable, without '='",
        });
    }
    Ok(name.to_owned())
}

/// Returns the options in clap's spelling, then `--`, then the program and its arguments unchanged. Handles the options
/// of other launchers, so that clap does not see them.
fn normalise(
    command: &Command,
    words: &[OsString],
    hydra: &mut Vec<OsString>,
) -> Result<Vec<OsString>, Error> {
    let mut out = Vec::with_capacity(words.len() + 1);
    let mut rest = words.iter();
    while let Some(word) = rest.as_slice().first() {
        if let Some((name, joined)) = word.to_str().and_then(|text| unknown(command, text))
            && let Some((meaning, values)) = foreign_options::meaning(name)
        {
            let length = 1 + if joined { 0 } else { values };
            let words = rest.as_slice();
            let words = &words[..length.min(words.len())];
            rest.nth(length - 1);
            out.extend(foreign(meaning, words, hydra)?);
            continue;
        }
        let Some((spelled, values)) = word.to_str().and_then(|text| option(command, text)) else {
            break;
        };
        rest.next();
        out.push(spelled.into());
        out.extend(rest.by_ref().take(values).cloned());
    }
    if rest.as_slice().first().is_some_and(|word| word != "--") {
        out.push("--".into());
    }
    out.extend(rest.cloned());
    Ok(out)
}

/// Applies an option of another launcher, with its values. Returns our options that mean the same.
fn foreign(
    meaning: Meaning,
    words: &[OsString],
    hydra: &mut Vec<OsString>,
) -> Result<Vec<OsString>, Error> {
    let text = words.join(OsStr::new(" ")).to_string_lossy().into_owned();
    let ignored = |why: &str| warn(&format!("{text} is ignored: {why}"));
    match meaning {
        Meaning::Granted => {}
        Meaning::Same(ours) => return Ok(ours.iter().map(OsString::from).collect()),
        Meaning::Ignored(why) => ignored(why),
        Meaning::Parameter => ignored(foreign_options::parameter(&text)),
        Meaning::Mapping => match foreign_options::ranks_per_host(&text) {
            Some(ranks) => return Ok(vec!["--ppn".into(), ranks.to_string().into()]),
            None => ignored(foreign_options::MAPPING),
        },
        Meaning::Hydra => hydra.extend_from_slice(words),
        Meaning::Refused(instead) => {
            return Err(Error::ForeignOption {
                option: text,
                instead,
            });
        }
    }
    Ok(Vec::new())
}

/// Returns the name of an option that is not ours, and whether a value is joined to it.
fn unknown<'a>(command: &Command, word: &'a str) -> Option<(&'a str, bool)> {
    let name = word.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    let (bare, joined) = match name.split_once('=') {
        Some((bare, _)) => (bare, true),
        None => (name, false),
    };
    let ours = command.get_arguments().any(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long() == Some(bare)
            || aliases.contains(&bare)
            || (bare.len() == 1 && has_letter(argument, bare))
    });
    (!ours && !bare.is_empty()).then_some((bare, joined))
}

/// Returns clap's spelling of this option and the number of following words that belong to it; `None` if the word is no
/// option.
fn option(command: &Command, word: &str) -> Option<(String, usize)> {
    let name = word.strip_prefix('-')?;
    let (name, long) = match name.strip_prefix('-') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if name.is_empty() {
        return None;
    }
    let (bare, joined) = match name.split_once('=') {
        Some((bare, _)) => (bare, true),
        None => (name, false),
    };
    let known = command.get_arguments().find(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long() == Some(bare) || aliases.contains(&bare)
    });
    if let Some(known) = known.filter(|_| long || bare.len() > 1) {
        return Some((format!("--{name}"), if joined { 0 } else { values(known) }));
    }
    let short = command
        .get_arguments()
        .find(|argument| has_letter(argument, name));
    match short {
        // The option takes the following words unless its value is joined to it, as in -n4.
        Some(short) if !long && name.len() == 1 => Some((word.to_owned(), values(short))),
        Some(_) if !long && is_joined(name) => Some((word.to_owned(), 0)),
        // The option is unknown; as a long option it is refused by its whole name.
        _ => Some((format!("--{name}"), 0)),
    }
}

/// Returns whether a word has a value behind the letter of an option: a number, or a variable. Other words are long
/// options with a letter missing.
fn is_joined(name: &str) -> bool {
    let value = name.get(1..).unwrap_or_default();
    name.starts_with('x') || value.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns whether a short form of the argument is the first letter of this name.
fn has_letter(argument: &clap::Arg, name: &str) -> bool {
    let letters = argument.get_short_and_visible_aliases().unwrap_or_default();
    name.chars()
        .next()
        .is_some_and(|letter| letters.contains(&letter))
}

fn values(argument: &clap::Arg) -> usize {
    let range = argument.get_num_args();
    range.map_or(0, |range| range.min_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, Error> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let request = super::parse("pombo run", &words)?;
        check(&request)?;
        Ok(request)
    }

    fn one(line: &str) -> Context {
        parse(line).unwrap().contexts.remove(0)
    }

    #[test]
    fn one_dash_two_dashes_joined() {
        for line in [
            "-n 3 p", "-np 3 p", "--np 3 p", "--np=3 p", "-np=3 p", "-n3 p", "--n 3 p",
        ] {
            assert_eq!(one(line).ranks, 3, "{line}");
        }
        assert_eq!(one("p").ranks, 1);
        for line in ["-wdir /d p", "-wd /d p", "--wdir=/d p", "--wd /d p"] {
            assert_eq!(one(line).directory, Some("/d".into()), "{line}");
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let job = one("-np 2 p -n 7 --np 9 -- -x");
        assert_eq!((job.ranks, job.program), (2, "p".into()));
        assert_eq!(job.arguments, ["-n", "7", "--np", "9", "--", "-x"]);
        let job = one("-n 2 -- -odd -np");
        assert_eq!(
            (job.program, job.arguments),
            ("-odd".into(), vec!["-np".into()])
        );
        assert_eq!(one("-n 2 p -").arguments, ["-"]);
    }

    #[test]
    fn environment_in_order_of_strength() {
        let request = parse("-env A -1 -x B=2=3 p : -genv A 9 -x C= q").unwrap();
        let of = |index: usize| request.contexts[index].environment.clone();
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        assert_eq!(of(0), [pair("A", "9"), pair("A", "-1"), pair("B", "2=3")]);
        assert_eq!(of(1), [pair("A", "9"), pair("C", "")]);
    }

    #[test]
    fn several_programs() {
        let request = parse("-n 2 a 1 : -n 3 --tag-output b : c").unwrap();
        let ranks: Vec<_> = request
            .contexts
            .iter()
            .map(|context| context.ranks)
            .collect();
        assert_eq!(ranks, [2, 3, 1]);
        assert!(request.tag && request.bind == Binding::None);
        assert_ne!(parse("-bind-to core a").unwrap().bind, Binding::None);
    }

    #[test]
    fn networks_and_hosts() {
        let request = parse("-net udp:eth0 --stats a : b").unwrap();
        let net = [(OsString::from("POMBO_NET"), OsString::from("udp:eth0"))];
        assert!(
            request
                .contexts
                .iter()
                .all(|context| context.environment == net)
        );
        assert!(request.stats && request.hosts.is_none());
        let hosts = |line: &str| parse(line).unwrap().hosts;
        let file = Some(Hosts::File("list".into()));
        for line in ["-f list a", "-hostfile list a", "--machinefile=list a"] {
            assert_eq!(hosts(line), file, "{line}");
        }
        for line in ["-host x,y a", "-H x,y a", "--hosts=x,y a"] {
            assert_eq!(hosts(line), Some(Hosts::List("x,y".into())), "{line}");
        }
    }

    #[test]
    fn options_of_other_launchers() {
        let line =
            "--allow-run-as-root --mca btl tcp,self -map-by ppr:2:socket -c 3 -genvall p -mca";
        let job = one(line);
        assert_eq!((job.ranks, job.program), (3, "p".into()));
        assert_eq!(job.arguments, ["-mca"]);
        assert_eq!(one("--map-by=core p").program, "p");
        for line in [
            "-ppn 2 p",
            "-N 2 p",
            "-perhost 2 p",
            "--npernode 2 -n 2 p",
            "--map-by ppr:2:node p",
            "-c 2 -map-by ppr:1:node:pe=4 p",
        ] {
            assert_eq!(one(line).ranks, 2, "{line}");
        }
        let hydra = parse("-iface eth0 -ppn 2 -launcher ssh p").unwrap().hydra;
        assert_eq!(hydra, ["-iface", "eth0", "-launcher", "ssh", "-ppn", "2"]);
        let timeout = |line: &str| parse(line).unwrap().timeout;
        let half = Some(Duration::from_millis(500));
        assert_eq!(timeout("--timeout 0.5 p : --timeout 3 q"), half);
        assert_eq!(timeout("p"), None);
        for line in [
            "-bind-to-core p",
            "-bind-to core p",
            "--bind-to core:if-supported p",
        ] {
            let core = Binding::parse("core").unwrap();
            assert_eq!(parse(line).unwrap().bind, core, "{line}");
        }
        assert_eq!(parse("p").unwrap().input, Input::Rank(0));
        assert_eq!(parse("-stdin none p").unwrap().input, Input::None);
        assert_eq!(parse("-s 1 -n 2 p").unwrap().input, Input::Rank(1));
        for line in ["--enable-recovery p : q", "p : -disable-auto-cleanup q"] {
            assert!(parse(line).unwrap().recovery, "{line}");
        }
    }

    #[test]
    fn refusals_name_the_thing() {
        for (line, name) in [
            ("-n 0 p", "0"),
            ("-n x p", "'x'"),
            ("-n -3 p", "'-3'"),
            ("-np", "--np"),
            ("-bogus p", "bogus"),
            ("--bogus=1 p", "--bogus"),
            ("-n 2", "no program"),
            ("", "no program"),
            ("-n 1 a : -n 1", "part 2"),
            ("-x =3 p", "-x"),
            ("-env A=B c p", "-env"),
            ("-bind-to moon p", "moon"),
            ("-stdin all p", "one rank"),
            ("-s 2 -n 2 p", "'2'"),
            ("-s 1 -n 2 -H a p", "several hosts"),
            ("-nolocl p", "--nolocl"),
            ("-configfile /no/such", "/no/such"),
            ("-configfile x p", "'x p'"),
            ("-net tcp p", "tcp"),
            ("-net udp: p", "udp:"),
            ("-net ethernet: p", "ethernet:"),
            ("-net shm:eth0 p", "shm:eth0"),
            ("-host a -f b p", "--host"),
            ("-output-filename x p", "-output-filename x"),
            ("--cpu-set=1 p", "taskset"),
            ("--mca btl", "no program"),
            ("--timeout -1 p", "'-1'"),
            ("--timeout nan p", "'nan'"),
            ("-N 0 p", "'0'"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.exit_code(), 1, "{line}");
            let text = error.to_string();
            assert!(text.contains(name), "{line}: {text}");
        }
    }
}
