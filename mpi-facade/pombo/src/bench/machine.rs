//! The circumstances of the figures: the machine, the time, the command, and the share of the machine that other
//! programs used. `bench` and `measure` use it.

use std::fs;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// This machine.
pub(crate) struct Machine {
    /// Processor and kernel.
    pub(crate) name: String,
    /// Number of cores that this process may use.
    pub(crate) cores: usize,
    /// Seconds since 1970.
    pub(crate) seconds: u64,
    pub(crate) command: String,
    /// Clock ticks at the start.
    ticks: Option<Ticks>,
}

/// Times of the machine in clock ticks since its boot.
struct Ticks {
    idle: u64,
    all: u64,
    /// Ticks of this process and of its children that have ended.
    own: u64,
}

impl Machine {
    pub(crate) fn here() -> Machine {
        let moment = SystemTime::now().duration_since(UNIX_EPOCH);
        let arguments = std::env::args().skip(1);
        let arguments = arguments.filter(|word| word != super::network_namespaces::INSIDE);
        let words = std::iter::once("pombo".to_owned()).chain(arguments);
        Machine {
            name: format!("{}, Linux {}", processor(), kernel()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            seconds: moment.map_or(0, |time| time.as_secs()),
            command: words.collect::<Vec<_>>().join(" "),
            ticks: Ticks::now(),
        }
    }

    /// Returns the share of the machine that other programs used since [`Machine::here`], 0 to 1.
    pub(super) fn others(&self) -> Option<f64> {
        let (before, after) = (self.ticks.as_ref()?, Ticks::now()?);
        let all = after.all.checked_sub(before.all).filter(|&all| all > 0)?;
        let busy = all.saturating_sub(after.idle.saturating_sub(before.idle));
        let others = busy.saturating_sub(after.own.saturating_sub(before.own));
        Some(others as f64 / all as f64)
    }
}

impl Ticks {
    fn now() -> Option<Ticks> {
        let machine = numbers(&fs::read_to_string("/proc/stat").ok()?)?;
        let process = fs::read_to_string("/proc/self/stat").ok()?;
        // The name before the last bracket may hold any character; field 3 follows.
        let (_, fields) = process.rsplit_once(')')?;
        let times = fields.split_whitespace().skip(14 - 3).take(4);
        Some(Ticks {
            idle: machine.get(3)? + machine.get(4)?,
            all: machine.iter().take(8).sum(),
            own: times.filter_map(|word| word.parse::<u64>().ok()).sum(),
        })
    }
}

/// Parses the line for all processors: user, nice, system, idle, waiting, interrupts (2), stolen.
fn numbers(stat: &str) -> Option<Vec<u64>> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    line.split_whitespace()
        .map(|word| word.parse().ok())
        .collect()
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let name = line.map_or("unknown processor", |line| {
        line.trim_start_matches([' ', '\t', ':'])
    });
    name.to_owned()
}

fn kernel() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_take_a_share() {
        let machine = Machine::here();
        assert!(machine.cores > 0);
        assert!(machine.name.contains("Linux"), "{}", machine.name);
        thread::sleep(std::time::Duration::from_millis(50));
        let others = machine.others().unwrap();
        assert!((0.0..=1.0).contains(&others), "{others}");
    }

    #[test]
    fn the_line_of_all_processors() {
        let text = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 9 9 9 9\n";
        assert_eq!(numbers(text).unwrap()[..4], [1, 2, 3, 4]);
        assert_eq!(numbers("intr 1 2"), None);
    }
}
