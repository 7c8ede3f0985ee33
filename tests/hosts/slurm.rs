//! Tests programs started by `srun --mpi=pmi2`: a cluster of Slurm's own daemons on the hosts, without root and without
//! keys. Where Slurm is not installed, or lacks what such a cluster needs, the tests report so.

use crate::common::{Hosts, on_hosts};
use crate::jobs::{HOSTS, alone, compile, expect_ok, picture};
use crate::support::{HANG, Outcome, finish, pombo};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Running daemons. They end with the hosts.
struct Slurm<'a> {
    hosts: &'a Hosts,
    place: PathBuf,
}

/// Returns a PATH with the directories of daemons, which some systems omit for users.
fn path() -> String {
    std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin"
}

impl<'a> Slurm<'a> {
    /// Starts a cluster. Returns `Err` with the reason if this machine has no Slurm that can be started so.
    fn start(hosts: &'a Hosts) -> Result<Self, String> {
        for program in ["slurmctld", "slurmd", "srun"] {
            let look = format!("command -v {program}");
            let look = finish(Command::new("sh").args(["-c", &look]).env("PATH", path()));
            if look.code != 0 {
                return Err(format!(
                    "there is no {program}; Debian's packages slurmctld, slurmd and slurm-client have it"
                ));
            }
        }
        let place = hosts.home().join("slurm");
        std::fs::create_dir_all(place.join("state")).expect("a file system of its own");
        let slurm = Slurm { hosts, place };
        slurm.configure();
        let mut daemons = vec![slurm.daemon(0, "slurmctld", &[])];
        for host in 0..hosts.count() {
            daemons.push(slurm.daemon(host, "slurmd", &["-N", &format!("h{host}")]));
        }
        slurm.wait(&mut daemons).map(|()| slurm)
    }

    fn configure(&self) {
        let place = self.place.display();
        let last = self.hosts.count() - 1;
        let text = format!(
            "ClusterName=pombo\nSlurmctldHost=h0\nSlurmUser=pombo\nSlurmdUser=pombo\n\
             AuthType=auth/none\nCredType=cred/none\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSlurmdParameters=config_overrides\n\
             MessageTimeout=60\nTCPTimeout=60\n\
             StateSaveLocation={place}/state\nSlurmdSpoolDir={place}/spool-%n\n\
             SlurmctldPidFile={place}/slurmctld.pid\nSlurmdPidFile={place}/slurmd-%n.pid\n\
             NodeName=h[0-{last}] CPUs=2 State=UNKNOWN\n\
             PartitionName=all Peers=ALL Default=YES State=UP\n"
        );
        std::fs::write(self.place.join("slurm.conf"), text).expect("a file system of its own");
        let user = "root:x:0:0::/:/bin/sh\npombo:x:1000:1000::/:/bin/sh\n";
        self.hosts.replace("/etc/passwd", user);
        self.hosts
            .replace("/etc/group", "root:x:0:\npombo:x:1000:\n");
    }

    /// Returns a command of the user `pombo` on a host that knows its name: as root, the daemons would drop groups,
    /// which the system permits only to the real root.
    /// the system lets only a real one do.
    fn command(&self, host: usize, program: &str) -> Command {
        let enter = "echo $0 >/proc/sys/kernel/hostname \
                     && exec unshare --user --map-user=1000 --map-group=1000 -- \"$@\"";
        let mut command = self.hosts.command(host, "unshare");
        command.args(["--uts", "sh", "-c", enter, &format!("h{host}"), program]);
        for (name, _) in std::env::vars() {
            if ["POMBO_", "SLURM_", "PMI"]
                .iter()
                .any(|of| name.starts_with(of))
            {
                command.env_remove(name);
            }
        }
        command.env("SLURM_CONF", self.place.join("slurm.conf"));
        command.env("PATH", path());
        command
    }

    /// Starts a daemon whose output goes to a file.
    fn daemon(&self, host: usize, program: &str, arguments: &[&str]) -> (Child, PathBuf) {
        let said = self.place.join(format!("{program}-{host}"));
        let file = File::create(&said).expect("a file system of its own");
        let mut command = self.command(host, program);
        command.arg("-D").args(arguments);
        command.stdout(file.try_clone().expect("a descriptor"));
        (command.stderr(file).spawn().expect("a command"), said)
    }

    /// Waits until all hosts are idle. A daemon that has ended cannot run on this system.
    fn wait(&self, daemons: &mut [(Child, PathBuf)]) -> Result<(), String> {
        let said = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        let controller = daemons[0].1.clone();
        let start = Instant::now();
        loop {
            for (daemon, path) in daemons.iter_mut() {
                if let Some(status) = daemon.try_wait().expect("a child") {
                    let said = said(path);
                    let last = said.lines().last().unwrap_or_default();
                    return Err(format!("a daemon of Slurm's ended, {status}: {last}"));
                }
            }
            if said(&controller).contains("Running as primary controller") {
                let state = finish(self.command(0, "sinfo").args(["-h", "-o", "%T"]));
                if state.out.trim() == "idle" {
                    return Ok(());
                }
            }
            let (all, passed) = (daemons.iter(), start.elapsed());
            assert!(
                passed < HANG,
                "{}",
                all.map(|(_, path)| said(path)).collect::<String>()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns `srun` with these arguments, on host 0.
    fn srun(&self, arguments: &str) -> Command {
        let mut command = self.command(0, "srun");
        command.args(arguments.split_whitespace());
        command
    }

    /// Returns `srun` of eight ranks on four hosts.
    fn eight(&self) -> Command {
        self.srun("--mpi=pmi2 -N4 -n8")
    }
}

fn on_slurm(test: &str, body: impl FnOnce(&Slurm<'_>)) {
    let _alone = alone();
    on_hosts(test, HOSTS, |hosts| match Slurm::start(hosts) {
        Ok(slurm) => body(&slurm),
        Err(reason) => eprintln!("SKIPPED: {reason}"),
    });
}

#[test]
fn ranks_in_any_order_of_hosts() {
    on_slurm(here!(ranks_in_any_order_of_hosts), |slurm| {
        let program = compile("slurm-programs", "tests/c/p2p.c");
        for (order, ranks, auth) in [
            ("-n8", "8 ranks on 4 hosts", "off"),
            ("-n7 -m cyclic", "7 ranks on 4 hosts", "full"),
        ] {
            let mut command = slurm.srun(&format!("--mpi=pmi2 -N4 {order}"));
            command.env("POMBO_AUTH", auth).env("POMBO_VERBOSE", "1");
            let outcome = finish(command.arg(&program));
            expect_ok(&outcome, "p2p");
            assert!(outcome.err.contains(ranks), "{}", outcome.err);
        }
    });
}

#[test]
fn heat_draws_the_same_picture_under_srun() {
    on_slurm(here!(heat_draws_the_same_picture_under_srun), |slurm| {
        let program = compile("slurm-heat", "examples/ported/heat.c");
        let one = pombo(["run", "-n", "1"]);
        let one = picture("slurm-heat-one", &program, one);
        let eight = picture("slurm-heat-eight", &program, slurm.eight());
        assert!(one == eight, "another picture");
    });
}

/// Slurm kills the step, so the exit code is that of the kill, and the message is ours.
#[test]
fn an_abort_and_a_killed_rank_end_the_job() {
    on_slurm(here!(an_abort_and_a_killed_rank_end_the_job), |slurm| {
        for (name, arguments, says) in [
            ("abort", &["2"][..], "rank 2 called MPI_Abort with code 17"),
            ("die", &["1", "receive"], "Killed"),
        ] {
            let program = compile("slurm-ends", &format!("tests/c/{name}.c"));
            let outcome = finish(slurm.eight().arg(program).args(arguments));
            assert_ne!(outcome.code, 0, "{}", outcome.err);
            assert!(outcome.err.contains(says), "{}", outcome.err);
            assert!(!outcome.out.contains("survived"), "{}", outcome.out);
        }
    });
}

#[test]
fn without_pmi2_nobody_is_alone_by_surprise() {
    on_slurm(here!(without_pmi2_nobody_is_alone_by_surprise), |slurm| {
        let program = compile("slurm-alone", "tests/c/p2p.c");
        let run = |command: &mut Command| -> Outcome { finish(command.arg(&program)) };
        let outcome = run(&mut slurm.srun("--mpi=none -N2 -n4"));
        assert_ne!(outcome.code, 0, "{}", outcome.out);
        assert!(outcome.err.contains("srun --mpi=pmi2"), "{}", outcome.err);
        // One rank, and worlds of one that the user requests.
        expect_ok(&run(&mut slurm.srun("--mpi=none -n1")), "p2p");
        let mut command = slurm.srun("--mpi=none -N2 -n2");
        command.env("POMBO_RANK", "0").env("POMBO_SIZE", "1");
        let outcome = run(&mut command);
        let expected = (0, "ok p2p\nok p2p\n");
        let got = (outcome.code, outcome.out.as_str());
        assert_eq!(got, expected, "{}", outcome.err);
    });
}
