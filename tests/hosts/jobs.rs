//! Tests MPI programs as jobs of eight ranks on four hosts, started by Hydra (in Debian's package mpich).

use crate::common::{Hosts, on_hosts};
use crate::support::{Job, Outcome, directory, example, finish, pombo, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) const HOSTS: usize = 4;
const RANKS_PER_HOST: usize = 2;

/// Returns a launcher of eight ranks, without variables of a surrounding job. Reports and returns `None` without Hydra.
pub(crate) fn job(hosts: &Hosts) -> Option<Command> {
    job_of(hosts, RANKS_PER_HOST)
}

/// Returns a launcher of so many ranks on every host, as [`job`].
pub(crate) fn job_of(hosts: &Hosts, ranks_per_host: usize) -> Option<Command> {
    let hydra = ["mpiexec.hydra", "mpiexec.mpich", "mpiexec"];
    let is_hydra = |name: &&&str| {
        let said = Command::new(**name).arg("--version").output();
        said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("HYDRA"))
    };
    let Some(name) = hydra.iter().find(is_hydra) else {
        eprintln!("SKIPPED: there is no Hydra on this machine; Debian's package mpich has it");
        return None;
    };
    let mut command = hosts.hydra(name, ranks_per_host);
    forget_variables(&mut command);
    Some(command)
}

/// Returns `pombo run` on host 0, of ranks on these hosts, as [`job`].
pub(crate) fn pombo_run(hosts: &Hosts, named: &str) -> Option<Command> {
    job(hosts)?;
    let mut command = hosts.command(0, env!("CARGO_BIN_EXE_pombo"));
    forget_variables(&mut command);
    command.args(["run", "-iface", "eth0", "-launcher", "ssh"]);
    command.arg("-launcher-exec").arg(hosts.login());
    command.args(["-H", named]);
    Some(command)
}

fn forget_variables(command: &mut Command) {
    let variables = std::env::vars().filter(|(name, _)| name.starts_with("POMBO_"));
    for (name, _) in variables {
        command.env_remove(name);
    }
}

/// Runs one job at a time, because eight ranks use all of a machine with two processors. Tests whose ranks wait or sleep
/// most of the time do without: they run beside others.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn source(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(path)
}

/// Compiles into a directory of the test, once in a process; the program appears whole, as other processes start it too.
pub(crate) fn compile(test: &str, path: &str) -> PathBuf {
    compile_for(None, test, path)
}

/// For the library in that directory.
pub(crate) fn compile_for(library: Option<&Path>, test: &str, path: &str) -> PathBuf {
    static COMPILED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let source = source(path);
    let name = source.file_stem().expect("a file");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let program = directory.join(name);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.contains(&program) {
        return program;
    }
    std::fs::create_dir_all(&directory).expect("room");
    let mut command = pombo(["mpicc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror"]);
    // The processes have namespaces, and numbers, of their own; each runs one test.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("test").replace("::", "-");
    let unfinished = directory.join(format!("{}.{test}", name.display()));
    command.arg(source).arg("-o").arg(&unfinished);
    command.envs(library.map(|library| ("POMBO_LIB", library)));
    let outcome = finish(command.args(["-lm", "-lpthread"]));
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    std::fs::rename(unfinished, &program).expect("the same directory");
    compiled.insert(program.clone());
    program
}

/// The networks between hosts.
pub(crate) const NETS: [&str; 2] = ["udp", "ethernet:eth0"];

/// Runs self-checking programs of `tests/c` on networks that lose `loss` per cent of the frames: without losses each on
/// both, else the networks take turns, because losses take time. The whole of a program runs over UDP without losses.
fn programs(hosts: &Hosts, test: &str, loss: &str) {
    let names = std::env::var("POMBO_PROGRAMS").unwrap_or_else(|_| PROGRAMS.to_owned());
    for (turn, name) in names.split_whitespace().enumerate() {
        let program = compile(test, &format!("tests/c/{name}.c"));
        let nets = match loss {
            "0" => &NETS[..],
            _ => &NETS[turn % 2..][..1],
        };
        for net in nets {
            let Some(mut command) = job(hosts) else {
                return;
            };
            command.arg(&program).env("POMBO_NET", net);
            if (loss, *net) != ("0", NETS[0]) {
                command.args(less_of(name));
            }
            expect_ok(&finish(command.env("POMBO_FAULT_LOSS", loss)), name);
        }
    }
}

/// What makes a long program leave out what no network can break.
pub(crate) fn less_of(name: &str) -> &'static [&'static str] {
    match name {
        "collectives" => &["few"],
        _ => &[],
    }
}

pub(crate) fn expect_ok(outcome: &Outcome, name: &str) {
    let expected = (0, format!("ok {name}\n"));
    let got = (outcome.code, outcome.out.clone());
    assert_eq!(got, expected, "{}", outcome.err);
}

/// The programs. `POMBO_PROGRAMS="random comms"` selects others, some of which take long when eight ranks share two
/// processors.
pub(crate) const PROGRAMS: &str = "p2p ordering probe matched several many collectives";

#[test]
fn programs_on_four_hosts() {
    let _alone = alone();
    on_hosts(here!(programs_on_four_hosts), HOSTS, |hosts| {
        programs(hosts, "hosts-programs", "0");
    });
}

#[test]
fn programs_on_four_hosts_whose_network_loses_two_per_cent() {
    let _alone = alone();
    let test = here!(programs_on_four_hosts_whose_network_loses_two_per_cent);
    on_hosts(test, HOSTS, |hosts| {
        programs(hosts, "hosts-loss", "2");
    });
}

const DECK: &str = "grid 61 47\nsteps 300\nreport 100\ninitial 20\nleft 0\nright 35\ntop 10\nbottom 60\n\
                    spot 20 20 6 100\nspot 45 30 8 0\n";

/// Returns the picture that the solver draws when this command starts it.
pub(crate) fn picture(name: &str, program: &Path, mut command: Command) -> Vec<u8> {
    let place = directory(name);
    std::fs::write(place.join("heat.deck"), DECK).expect("a directory");
    let outcome = finish(command.arg(program).arg("heat.deck").current_dir(&place));
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    std::fs::read(place.join("heat.ppm")).expect("a picture")
}

/// The picture of a solver depends on all halos, including those between hosts.
#[test]
fn heat_draws_the_same_picture_on_four_hosts_as_on_one() {
    let _alone = alone();
    let test = here!(heat_draws_the_same_picture_on_four_hosts_as_on_one);
    on_hosts(test, HOSTS, |hosts| {
        let program = compile("hosts-heat", "examples/ported/heat.c");
        let one = picture("hosts-heat-one", &program, pombo(["run", "-n", "1"]));
        for (net, loss) in [
            ("udp", "0"),
            ("udp", "2"),
            ("ethernet", "0"),
            ("ethernet", "2"),
        ] {
            let Some(mut command) = job(hosts) else {
                return;
            };
            command.env("POMBO_NET", net).env("POMBO_FAULT_LOSS", loss);
            let four = picture(&format!("hosts-heat-{net}-{loss}"), &program, command);
            assert!(
                one == four,
                "another picture over {net} at {loss} per cent loss"
            );
        }
    });
}

/// `POMBO_NAP=30` sets the seconds of sleep, for a program that computes long.
#[test]
fn a_rank_that_sleeps_is_not_dead() {
    on_hosts(here!(a_rank_that_sleeps_is_not_dead), HOSTS, |hosts| {
        let nap = std::env::var("POMBO_NAP").unwrap_or_else(|_| "3".to_owned());
        let Some(mut command) = job(hosts) else {
            return;
        };
        // The time-out is shorter than the sleep: silence is no sign of death.
        command
            .env("POMBO_FAULT_LOSS", "5")
            .env("POMBO_HOST_TIMEOUT", "1");
        command
            .arg(compile("hosts-nap", "tests/hosts/nap.c"))
            .arg(nap);
        expect_ok(&finish(&mut command), "nap");
    });
}

/// A job whose ranks wait for one that never sends.
struct WaitingJob {
    said: PathBuf,
    _launcher: Job,
}

impl WaitingJob {
    fn for_rank(who: usize, hosts: &Hosts, test: &str, by: (&str, &str)) -> Option<Self> {
        Self::start(&who.to_string(), hosts, test, by)
    }

    /// Starts the job with these arguments of `wait.c`.
    fn start(words: &str, hosts: &Hosts, test: &str, by: (&str, &str)) -> Option<Self> {
        let program = compile(test, "tests/hosts/wait.c");
        Self::start_program((&program, words), hosts, test, by, "waits")
    }

    /// Starts the job with this program and its arguments; returns when all ranks have said that they are `ready`.
    fn start_program(
        (program, words): (&Path, &str),
        hosts: &Hosts,
        test: &str,
        (net, loss): (&str, &str),
        ready: &str,
    ) -> Option<Self> {
        let mut command = job(hosts)?;
        let said = directory(&format!("{test}-said"));
        // The launcher would end the other ranks when one fails, or fail when it cannot reach them; `setsid` takes the
        // ranks out of its control, because each is to detect the loss on its own.
        let script = "setsid \"$0\" $1 >\"$2/$PMI_RANK\" 2>&1 & sleep 3600";
        command.args(["sh", "-c", script]).arg(program);
        command.arg(words).arg(&said);
        command
            .env("POMBO_HOST_TIMEOUT", "2")
            .env("POMBO_NET", net)
            .env("POMBO_FAULT_LOSS", loss);
        let waiting = WaitingJob {
            said,
            _launcher: Job::start(&mut command),
        };
        let is_ready = |rank| waiting.said(rank).contains(ready);
        until("all are ready", || (0..8).all(is_ready));
        Some(waiting)
    }

    fn said(&self, rank: usize) -> String {
        std::fs::read_to_string(self.said.join(rank.to_string())).unwrap_or_default()
    }

    /// Returns the process of a rank.
    fn process(&self, rank: usize) -> i32 {
        let said = self.said(rank);
        let number = said.split_whitespace().nth(1);
        number.and_then(|n| n.parse().ok()).expect("it waits")
    }

    /// Checks that all of these ranks report that the other one is lost.
    fn all_name(&self, lost: usize, ranks: impl Iterator<Item = usize>) {
        let text = format!("rank {lost} of MPI_COMM_WORLD has ended");
        for rank in ranks {
            let what = format!("rank {rank} names rank {lost}");
            until(&what, || self.said(rank).contains(&text));
            assert!(!self.said(rank).contains("survived"));
        }
    }
}

#[test]
fn a_killed_rank_is_named_by_every_other_rank() {
    let test = here!(a_killed_rank_is_named_by_every_other_rank);
    on_hosts(test, HOSTS, |hosts| {
        for net in NETS {
            let Some(job) = WaitingJob::for_rank(5, hosts, "hosts-killed", (net, "2")) else {
                return;
            };
            let process = Pid::from_raw(job.process(5));
            kill(process, Signal::SIGKILL).expect("it waits");
            job.all_name(5, (0..8).filter(|rank| *rank != 5));
        }
    });
}

/// A host whose link goes down ends no process: the other ranks detect its loss by the keep-alive of their connections.
#[test]
fn a_vanished_host_is_named_by_every_other_rank() {
    let test = here!(a_vanished_host_is_named_by_every_other_rank);
    on_hosts(test, HOSTS, |hosts| {
        for net in NETS {
            let Some(job) = WaitingJob::for_rank(7, hosts, "hosts-vanished", (net, "0")) else {
                return;
            };
            hosts.unplug(3);
            job.all_name(7, 0..6);
            drop(job);
            hosts.plug(3);
        }
    });
}

/// A rank that sends over an interface that has gone names the interface.
#[test]
fn an_interface_that_is_taken_away_is_named() {
    let test = here!(an_interface_that_is_taken_away_is_named);
    on_hosts(test, HOSTS, |hosts| {
        let by = (NETS[1], "0");
        let Some(job) = WaitingJob::start("7 talk", hosts, "hosts-taken", by) else {
            return;
        };
        let mut command = hosts.command(3, "ip");
        let taken = command.args(["link", "del", "eth0"]).status();
        assert!(taken.expect("ip").success());
        let named = "the network between hosts failed: No such device or address (error number 6): \
                     interface eth0 was taken away";
        until("rank 7 names it", || job.said(7).contains(named));
    });
}

/// Runs a command of `ip` on a host.
fn ip(hosts: &Hosts, host: usize, command: &str) {
    let mut ip = hosts.command(host, "ip");
    let status = ip.args(command.split(' ')).status();
    assert!(status.expect("ip").success(), "{command}");
}

/// A program without MPI joins by the same means: it has one process per rank here, and one thread per rank in the
/// other test.
#[test]
fn a_farm_without_mpi_on_four_hosts() {
    let _alone = alone();
    let test = here!(a_farm_without_mpi_on_four_hosts);
    on_hosts(test, HOSTS, |hosts| {
        for net in NETS {
            let Some(mut command) = job(hosts) else {
                return;
            };
            let outcome = finish(command.arg(example("farm")).env("POMBO_NET", net));
            assert_eq!((outcome.code, &*outcome.out), (0, PI), "{}", outcome.err);
        }
    });
}

/// The result of eight ranks.
const PI: &str = "pi is 3.141592554 after 1000 tasks\n";

/// Eight processes on four hosts join and leave groups at random; all end with the same members.
#[test]
fn groups_on_four_hosts_are_the_same_everywhere() {
    let _alone = alone();
    let test = here!(groups_on_four_hosts_are_the_same_everywhere);
    on_hosts(test, HOSTS, |hosts| {
        for net in NETS {
            let Some(mut command) = job(hosts) else {
                return;
            };
            command.env("POMBO_NET", net).env("POMBO_FAULT_LOSS", "5");
            let outcome = finish(command.arg(example("groups")).arg("1"));
            let lines = outcome.out.lines();
            let texts: Vec<_> = lines.filter_map(|line| line.split_once(": ")).collect();
            assert_eq!((outcome.code, texts.len()), (0, 8), "{outcome:?}");
            assert!(
                texts.iter().all(|(_, text)| *text == texts[0].1),
                "{texts:?}"
            );
        }
    });
}

/// A host is cut off: the processes of the others go on without it, in the same groups, and its own are a minority.
#[test]
fn groups_outlive_a_partition_on_one_side() {
    let _alone = alone();
    let test = here!(groups_outlive_a_partition_on_one_side);
    on_hosts(test, HOSTS, |hosts| {
        let (program, by) = (example("groups"), (NETS[0], "0"));
        let words = (&*program, "8");
        let job = WaitingJob::start_program(words, hosts, "hosts-groups", by, "begins");
        let Some(job) = job else {
            return;
        };
        hosts.unplug(3);
        for rank in 6..8 {
            until("a minority", || job.said(rank).contains("Minority"));
        }
        let text = |rank: usize| {
            let said = job.said(rank);
            let prefix = format!("rank {rank}: [");
            let line = said.lines().find_map(|line| line.strip_prefix(&prefix));
            line.map(str::to_owned)
        };
        until("six are left", || (0..6).all(|rank| text(rank).is_some()));
        for rank in 0..6 {
            assert!(text(rank).is_some_and(|text| text.starts_with("0, 1, 2, 3, 4, 5]")));
            assert_eq!(text(rank), text(0));
        }
        drop(job);
        hosts.plug(3);
    });
}

/// Of two ranks the one that writes dies, or one in the middle; the log is whole and the same on all that are left. Those
/// of the victim's host may be among them: Hydra ends them, as fast as it can.
#[test]
fn a_chain_on_four_hosts_outlives_a_killed_rank() {
    let _alone = alone();
    let test = here!(a_chain_on_four_hosts_outlives_a_killed_rank);
    on_hosts(test, HOSTS, |hosts| {
        for (net, victim) in [(NETS[0], 0), (NETS[1], 5)] {
            let Some(mut command) = job(hosts) else {
                return;
            };
            command.env("POMBO_NET", net).env("POMBO_FAULT_LOSS", "5");
            command.arg("-disable-auto-cleanup").arg(example("chain"));
            let outcome = finish(command.arg(victim.to_string()));
            let logs = outcome.out.lines().filter_map(|line| {
                let (rank, log) = line.strip_prefix("rank ")?.split_once(": ")?;
                Some((rank.parse::<usize>().ok()?, log))
            });
            let logs: BTreeMap<_, _> = logs.collect();
            let others = (0..8).filter(|rank| rank / RANKS_PER_HOST != victim / RANKS_PER_HOST);
            for rank in others {
                assert!(logs.contains_key(&rank), "no rank {rank}: {outcome:?}");
            }
            let log = logs[&7];
            assert!(logs.values().all(|other| *other == log), "{logs:?}");
            assert_eq!(log.ends_with("[(300, 0)]"), victim != 0, "{log}");
            assert!(!logs.contains_key(&victim) && outcome.code != 0);
        }
    });
}

/// The interface stays up, but its MTU is lowered.
#[test]
fn an_mtu_that_is_lowered_is_named() {
    let test = here!(an_mtu_that_is_lowered_is_named);
    on_hosts(test, HOSTS, |hosts| {
        let by = (NETS[1], "0");
        let Some(job) = WaitingJob::start("7 talk", hosts, "hosts-mtu", by) else {
            return;
        };
        ip(hosts, 3, "link set eth0 mtu 600");
        let named = "the MTU of eth0 went from 1500 to 600";
        until("rank 7 names it", || job.said(7).contains(named));
        assert!(!job.said(7).contains("taken away"));
    });
}

/// A rank that only waits sends nothing that could be refused: frames to it are dropped where they arrive.
#[test]
fn an_mtu_that_is_lowered_is_named_by_who_only_waits() {
    let test = here!(an_mtu_that_is_lowered_is_named_by_who_only_waits);
    on_hosts(test, HOSTS, |hosts| {
        let by = (NETS[1], "0");
        let Some(job) = WaitingJob::start("0", hosts, "hosts-mtu-wait", by) else {
            return;
        };
        ip(hosts, 3, "link set eth0 mtu 600");
        let named = "the MTU of eth0 went from 1500 to 600";
        until("rank 7 names it", || job.said(7).contains(named));
    });
}

/// A rule by which rank 7 may not send datagrams to rank 0, with which it communicates.
const FORBIDDEN: &str = "rule add to 10.77.0.1 ipproto udp prohibit";
const ALLOWED: &str = "rule del to 10.77.0.1 ipproto udp prohibit";

/// A firewall that is being changed acts like a network that loses frames.
#[test]
fn a_rule_that_forbids_frames_for_a_moment_ends_no_job() {
    let test = here!(a_rule_that_forbids_frames_for_a_moment_ends_no_job);
    on_hosts(test, HOSTS, |hosts| {
        let by = (NETS[0], "0");
        let Some(job) = WaitingJob::start("7 talk", hosts, "hosts-moment", by) else {
            return;
        };
        ip(hosts, 3, FORBIDDEN);
        std::thread::sleep(Duration::from_millis(200));
        ip(hosts, 3, ALLOWED);
        std::thread::sleep(Duration::from_secs(1));
        // All ranks are still running, so the test ends the job.
        assert!(!job.said(7).contains("error"), "{}", job.said(7));
        let process = Pid::from_raw(job.process(7));
        kill(process, Signal::SIGKILL).expect("it talks");
        job.all_name(7, 0..7);
    });
}

#[test]
fn a_rule_that_goes_on_forbidding_frames_is_named() {
    let test = here!(a_rule_that_goes_on_forbidding_frames_is_named);
    on_hosts(test, HOSTS, |hosts| {
        let by = (NETS[0], "0");
        let Some(job) = WaitingJob::start("7 talk", hosts, "hosts-forbidden", by) else {
            return;
        };
        ip(hosts, 3, FORBIDDEN);
        let named = "this host has let no frame out to 10.77.0.1:";
        until("rank 7 names it", || job.said(7).contains(named));
    });
}
