//! The selection of algorithms, by request, by prediction, or by rule: see `algorithm` for the table. All ranks of a job
//! must select alike.

use super::algorithm::{Algorithm, Operation, Rule, Selection, TABLE};
use super::message_times::MessageTimes;
use super::predicted::predict;
use crate::objects::Objects;
use core::cell::Cell;
use core::ffi::CStr;
use pombo_collective::model::{Hold, Network};
use pombo_job::environment::EnvironmentCopy;
use pombo_job::process::processors;
use pombo_job::settings::{LOCAL_CORES, NET, whole};
use pombo_kernel::text::fields;

/// The ranks of an operation, or of a part of it, and the transports that they share beside messages.
#[derive(Clone, Copy, Default, Debug)]
pub struct Conditions {
    /// Number of ranks.
    pub ranks: usize,
    /// Whether they are on several hosts.
    pub several_hosts: bool,
    /// Whether they all share memory.
    pub shared_memory: bool,
    /// Whether the network has multicast.
    pub multicast: bool,
    /// Whether they are on several hosts of which some have several ranks.
    pub hierarchical: bool,
    /// Whether all ranks take part in a blocking call.
    pub adaptive: bool,
    /// The algorithm that the communicator's info key names.
    pub asked: Option<Algorithm>,
}

impl Conditions {
    fn allow(&self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::SharedMemory => self.shared_memory,
            Algorithm::Multicast => self.multicast,
            Algorithm::Hierarchical => self.hierarchical,
            Algorithm::Adaptive => self.adaptive,
            _ => true,
        }
    }
}

/// The algorithm of an operation, and why.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// The algorithm that carries out the operation.
    pub algorithm: Algorithm,
    /// Why it does.
    pub reason: Reason,
}

/// Why an algorithm was taken.
#[derive(Clone, Copy, Debug)]
pub enum Reason {
    /// The environment variable names it.
    Variable,
    /// The communicator's info key names it.
    Key,
    /// Its predicted time is the least, in nanoseconds.
    Predicted(u64),
    /// The rule holds, and no prediction was asked for or possible.
    Rule(&'static Rule),
}

/// The rules and times by which this process selects algorithms.
pub struct Selector {
    /// The algorithms that the environment requests, in the order of the table.
    wanted: [Option<Algorithm>; TABLE.len()],
    cores: usize,
    /// The times of messages within a host, and between hosts.
    times: [Option<MessageTimes>; 2],
    /// What was predicted last, by sizes.
    recent: [Cell<Option<Predicted>>; 16],
}

/// The cheapest algorithm for an operation, bytes, ranks, and whether they are on several hosts.
type Predicted = ((Operation, usize, usize, bool), (Algorithm, u64));

/// The times of a message where nobody has measured any, in units that do not matter.
const UNMEASURED: Hold = Hold { hold: 1, end: 2 };

/// The name of the network within a host among the times of messages.
const NEAR: &str = "shm";

/// The variable with the times of messages, as the table of settings has it.
const TIMES: &CStr = c"POMBO_NETWORK_TIMES";

/// The times that the library was built with; the start of the job checks them.
pub(crate) const BUILT_IN_TIMES: Option<&str> = option_env!("POMBO_NETWORK_TIMES");

/// Returns the selector of this process. Values that name no algorithm were refused at the start of the job.
pub(super) fn selector(objects: &mut Objects) -> &Selector {
    let environment = &objects.environment;
    objects.extensions.get_or(|| {
        let net = environment.text(NET.name).unwrap_or(NET.default);
        Selector::of_environment(environment, cores(environment), None, net)
    })
}

impl Selector {
    /// Creates the selector for these requests, processors, and times of messages, of which `net`, as `POMBO_NET` says
    /// it, names those between hosts.
    pub fn new(
        wanted: [Option<Algorithm>; TABLE.len()],
        cores: usize,
        times: &str,
        net: &str,
    ) -> Selector {
        let far = fields(net, b':').next().unwrap_or(net);
        Selector {
            wanted,
            cores,
            times: [NEAR, far].map(|name| MessageTimes::parse(times, name)),
            recent: Default::default(),
        }
    }

    /// Creates the selector for the requests of the environment, and its times of messages where none are given.
    pub fn of_environment(
        environment: &EnvironmentCopy,
        cores: usize,
        times: Option<&str>,
        net: &str,
    ) -> Selector {
        let wanted = |place: usize| {
            let choice: &Selection = &TABLE[place];
            environment
                .text(choice.variable)
                .and_then(|name| choice.find(name).ok())
        };
        let times = times.or_else(|| environment.text(TIMES)).or(BUILT_IN_TIMES);
        Selector::new(
            core::array::from_fn(wanted),
            cores,
            times.unwrap_or(""),
            net,
        )
    }

    /// Selects the algorithm for an operation of `bytes` bytes.
    pub fn select(&self, operation: Operation, bytes: usize, conditions: Conditions) -> Algorithm {
        self.decide(operation, bytes, conditions).algorithm
    }

    /// Selects the algorithm as [`select`](Self::select) does, and tells why.
    pub fn decide(&self, operation: Operation, bytes: usize, conditions: Conditions) -> Decision {
        let costly_waits = conditions.several_hosts || self.is_oversubscribed(conditions.ranks);
        let holds = |rule: &&Rule| {
            conditions.ranks <= rule.ranks
                && bytes <= rule.bytes
                && (!rule.costly_waits || costly_waits)
                && (!rule.one_host || !conditions.several_hosts)
                && conditions.allow(rule.algorithm)
        };
        if let Some(decision) = self.requested(operation, conditions) {
            return decision;
        }
        let choice = &TABLE[operation as usize];
        let last = &choice.rules[choice.rules.len() - 1];
        let rule = choice.rules.iter().find(holds).unwrap_or(last);
        // What goes by other means than messages is not predicted, so the rule that prefers it decides.
        let predicted = match rule.algorithm.is_by_messages() {
            true => self.cheapest(operation, bytes, conditions),
            false => None,
        };
        let (algorithm, reason) = match predicted {
            Some((algorithm, time)) => (algorithm, Reason::Predicted(time)),
            None => (rule.algorithm, Reason::Rule(rule)),
        };
        Decision { algorithm, reason }
    }

    /// Returns the algorithm that a request names, the variable's before the communicator's, if it can be carried out.
    pub(super) fn requested(
        &self,
        operation: Operation,
        conditions: Conditions,
    ) -> Option<Decision> {
        let asked = [
            (self.wanted[operation as usize], Reason::Variable),
            (conditions.asked, Reason::Key),
        ];
        asked.into_iter().find_map(|(wanted, reason)| {
            let algorithm = wanted.filter(|wanted| conditions.allow(*wanted))?;
            Some(Decision { algorithm, reason })
        })
    }

    /// Returns the algorithm by messages of least predicted time; of equal ones the first of the table.
    fn cheapest(
        &self,
        operation: Operation,
        bytes: usize,
        conditions: Conditions,
    ) -> Option<(Algorithm, u64)> {
        self.times(conditions)?;
        let Conditions {
            ranks,
            several_hosts,
            ..
        } = conditions;
        let key = (operation, bytes, ranks, several_hosts);
        // Multiplied by the golden ratio, so that powers of two lie apart.
        let number = (bytes ^ ranks << 20 ^ (operation as usize) << 26) as u64;
        let place = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize;
        let recent = &self.recent[place];
        if let Some((_, found)) = recent.get().filter(|(of, _)| *of == key) {
            return Some(found);
        }
        let allowed = TABLE[operation as usize].allowed.iter();
        let costs = allowed.filter_map(|&algorithm| {
            let cost = self.cost(operation, algorithm, bytes, conditions)?;
            Some((algorithm, cost))
        });
        let found = costs.min_by_key(|&(_, cost)| cost)?;
        recent.set(Some((key, found)));
        Some(found)
    }

    /// Returns the predicted time of an algorithm in nanoseconds; `None` if nobody has measured this network, if ranks
    /// share cores, which the times do not know, or if it goes by other means than messages.
    pub fn cost(
        &self,
        operation: Operation,
        algorithm: Algorithm,
        bytes: usize,
        conditions: Conditions,
    ) -> Option<u64> {
        let Conditions {
            ranks,
            several_hosts,
            ..
        } = conditions;
        let times = self.times(conditions)?;
        predict(times, operation, algorithm, (ranks, bytes, several_hosts))
    }

    /// Returns the times of a message of so many bytes, measured or not.
    pub(super) fn message(&self, bytes: usize, conditions: Conditions) -> Hold {
        let times = self.times[usize::from(conditions.several_hosts)].as_ref();
        times.map_or(UNMEASURED, |times| times.message(bytes))
    }

    fn times(&self, conditions: Conditions) -> Option<&MessageTimes> {
        let has_cores = conditions.several_hosts || !self.is_oversubscribed(conditions.ranks);
        let times = self.times[usize::from(conditions.several_hosts)].as_ref();
        times.filter(|_| has_cores)
    }

    /// Returns whether any operation may use multicast.
    #[cfg(feature = "hosts")]
    pub(super) fn wants_multicast(&self) -> bool {
        let wanted = self.wanted[Operation::Bcast as usize];
        wanted.is_none_or(|wanted| matches!(wanted, Algorithm::Multicast | Algorithm::Hierarchical))
    }

    /// Returns whether `ranks` ranks share cores.
    pub(super) fn is_oversubscribed(&self, ranks: usize) -> bool {
        ranks > self.cores
    }
}

/// Returns the processors that the ranks of this machine share, as the launcher passes them, else all of the machine:
/// the same number for every rank, whatever its own affinity.
fn cores(environment: &EnvironmentCopy) -> usize {
    let told = environment
        .get(LOCAL_CORES.name)
        .and_then(|cores| whole(cores.to_bytes()));
    told.filter(|&cores| cores > 0).unwrap_or_else(processors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Algorithm::*;

    #[test]
    fn the_first_rule_that_holds_decides() {
        let mut choices = Selector::new([None; TABLE.len()], 1, "", "auto");
        let conditions = Conditions {
            ranks: 4,
            ..Conditions::default()
        };
        let small = choices.select(Operation::Allreduce, 8, conditions);
        let large = choices.select(Operation::Allreduce, 1 << 20, conditions);
        assert_ne!(small, large);
        let all = Conditions {
            shared_memory: true,
            hierarchical: true,
            ..conditions
        };
        assert_eq!(choices.select(Operation::Allreduce, 8, all), SharedMemory);
        choices.wanted[Operation::Allreduce as usize] = Some(Chain);
        assert_eq!(choices.select(Operation::Allreduce, 8, all), Chain);
        choices.wanted[Operation::Allreduce as usize] = Some(Hierarchical);
        assert_eq!(choices.select(Operation::Allreduce, 8, all), Hierarchical);
        assert_eq!(choices.select(Operation::Allreduce, 8, conditions), small);
    }
}
