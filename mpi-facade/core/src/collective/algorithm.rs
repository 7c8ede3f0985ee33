//! The table of the algorithms of collective operations: measured rules that a user can print (`pombo info`) and override
//! (`POMBO_COLL_<OPERATION>=<algorithm>`, or the info key of that name in small letters).

use crate::error::{Class, Error};
use crate::runtime::phase;
use core::ffi::CStr;
use core::fmt;
use pombo_job::environment::EnvironmentCopy;
use pombo_job::log;
use pombo_job::settings::VERBOSE;
use pombo_job::text;
use pombo_netdrivers::tuning::{PAIR_DIRECT, PAIR_EXCHANGED};

/// A collective operation, as the selection of algorithms distinguishes them. The forms with counts for every rank use
/// the same rules as the plain ones, except that gatherv and scatterv are always `linear`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is what it says")]
pub enum Operation {
    Barrier,
    Bcast,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
}

/// Number of operations.
pub(crate) const KINDS: usize = Operation::Exscan as usize + 1;

impl Operation {
    /// Returns whether no rank leaves it before all have entered it, whatever its algorithm.
    pub(super) const fn waits_for_all(self) -> bool {
        use Operation::{Allgather, Allreduce, Alltoall, Barrier, ReduceScatter};
        matches!(
            self,
            Barrier | Allgather | Alltoall | Allreduce | ReduceScatter
        )
    }

    /// Returns the tag, of 31 bits, of call number `calls` of this kind.
    pub(super) const fn tag(self, calls: u32) -> u32 {
        const BITS: u32 = 27;
        const_assert!(KINDS <= 1 << (31 - BITS));
        (self as u32) << BITS | calls & ((1 << BITS) - 1)
    }
}

macro_rules! algorithms {
    ($($name:ident $text:literal $meaning:literal;)*) => {
        /// An algorithm of a collective operation.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Algorithm {
            $(#[doc = concat!("`", $text, "`: ", $meaning, ".")] $name,)*
        }

        impl Algorithm {
            /// Returns the name by which the environment selects it.
            pub const fn name(self) -> &'static str {
                match self { $(Algorithm::$name => $text,)* }
            }
        }
    };
}

algorithms! {
    Linear "linear" "the root talks to everybody itself";
    Binomial "binomial" "along a binomial tree";
    Chain "chain" "from rank to rank, long messages in segments";
    BlockedBinomial "blocked_binomial" "along a binomial tree of blocks, whose first ranks send to the others; the block is that of least latency by the times of messages";
    Optimal "optimal" "along the tree of least latency by the times of messages (`pombo measure`); without them t_end counts as twice t_hold";
    ScatterAllgather "scatter_allgather" "scatter by a binomial tree, then all-gather on the ring";
    Ring "ring" "round the ring, block by block";
    SpreadOut "spread_out" "everybody to everybody in shifted order, all at once";
    Pairwise "pairwise" "everybody to everybody in shifted order, one after the other";
    RecursiveDoubling "recursive_doubling" "twice as much, or twice as far, in every round";
    Rabenseifner "rabenseifner" "reduce-scatter by halves, then all-gather by doubles";
    TwoLevel "two_level" "from the root to one rank of every site, and along binomial trees inside; POMBO_SITES says the sites, else hosts are";
    Adaptive "adaptive" "along a minimum spanning tree of measured latencies that adapts to their changes; blocking calls";
    Bruck "bruck" "blocks that go the same way travel together";
    Multicast "multicast" "by the network's own broadcast, one frame for all; where ranks are on several hosts; blocking calls";
    SharedMemory "shm" "over memory that all share, without messages; blocking calls of ranks on one host";
    Hierarchical "hierarchical" "inside every host first, then between the first ranks of all hosts; where ranks are on several hosts; blocking calls";
}

/// The algorithm up to a number of ranks and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Whether the rule needs costly waits: ranks that share cores, or ranks on several hosts.
    pub costly_waits: bool,
    /// Whether the rule needs ranks that are all on one host.
    pub one_host: bool,
    /// Most ranks for which the rule holds.
    pub ranks: usize,
    /// Most bytes for which the rule holds: of the whole vector, of one block (gather, scatter, all-to-all), or of all
    /// blocks together (all-gather, reduce-scatter).
    pub bytes: usize,
    /// The algorithm that the rule selects.
    pub algorithm: Algorithm,
}

/// The algorithms of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// The operation.
    pub operation: Operation,
    /// The environment variable that overrides the rules.
    pub variable: &'static CStr,
    /// The algorithms that the variable may name.
    pub allowed: &'static [Algorithm],
    /// The rules: the first that holds decides; the last one always holds.
    pub rules: &'static [Rule],
}

const ANY: usize = usize::MAX;
/// Most ranks that use shared memory: each polls all others.
const BOARDS: usize = 64;

const fn rule(ranks: usize, bytes: usize, algorithm: Algorithm) -> Rule {
    Rule {
        costly_waits: false,
        one_host: false,
        ranks,
        bytes,
        algorithm,
    }
}

const fn costly_waits(ranks: usize, bytes: usize, algorithm: Algorithm) -> Rule {
    Rule {
        costly_waits: true,
        ..rule(ranks, bytes, algorithm)
    }
}

const fn one_host(ranks: usize, bytes: usize, algorithm: Algorithm) -> Rule {
    Rule {
        one_host: true,
        ..rule(ranks, bytes, algorithm)
    }
}

use Algorithm::*;
use static_assertions::const_assert;

/// The table, in the order of [`Operation`]. Measured on shared memory with 2 to 8 ranks on 2 cores, and between 4 and
/// 8 hosts. Where ranks share cores, waits cost more than messages, so algorithms with one round of messages to all
/// ranks are best; the same holds between hosts, where waiting for one message takes as long as sending several.
pub const TABLE: &[Selection] = &[
    Selection {
        operation: Operation::Barrier,
        variable: c"POMBO_COLL_BARRIER",
        allowed: &[
            Linear,
            Binomial,
            Chain,
            RecursiveDoubling,
            SharedMemory,
            Hierarchical,
        ],
        rules: &[
            rule(BOARDS, ANY, SharedMemory),
            rule(ANY, ANY, Hierarchical),
            costly_waits(16, ANY, Linear),
            rule(ANY, ANY, RecursiveDoubling),
        ],
    },
    Selection {
        operation: Operation::Bcast,
        variable: c"POMBO_COLL_BCAST",
        allowed: &[
            Linear,
            Binomial,
            Chain,
            BlockedBinomial,
            Optimal,
            ScatterAllgather,
            TwoLevel,
            Adaptive,
            Multicast,
            SharedMemory,
            Hierarchical,
        ],
        rules: &[
            costly_waits(BOARDS, ANY, SharedMemory),
            one_host(2, PAIR_DIRECT, Binomial),
            rule(BOARDS, ANY, SharedMemory),
            rule(ANY, ANY, Hierarchical),
            rule(ANY, ANY, Multicast),
            costly_waits(16, ANY, Linear),
            rule(ANY, 1 << 18, Binomial),
            rule(7, ANY, Binomial),
            rule(ANY, ANY, ScatterAllgather),
        ],
    },
    Selection {
        operation: Operation::Gather,
        variable: c"POMBO_COLL_GATHER",
        allowed: &[Linear, Binomial],
        rules: &[rule(ANY, ANY, Linear)],
    },
    Selection {
        operation: Operation::Scatter,
        variable: c"POMBO_COLL_SCATTER",
        allowed: &[Linear, Binomial],
        rules: &[rule(ANY, ANY, Linear)],
    },
    Selection {
        operation: Operation::Allgather,
        variable: c"POMBO_COLL_ALLGATHER",
        allowed: &[
            Linear,
            Ring,
            SpreadOut,
            RecursiveDoubling,
            SharedMemory,
            Hierarchical,
        ],
        rules: &[
            costly_waits(BOARDS, ANY, SharedMemory),
            one_host(2, 2 * PAIR_EXCHANGED, RecursiveDoubling),
            rule(BOARDS, ANY, SharedMemory),
            rule(ANY, ANY, Hierarchical),
            costly_waits(16, 4096, Linear),
            costly_waits(16, ANY, SpreadOut),
            rule(ANY, 8192, RecursiveDoubling),
            rule(ANY, ANY, Ring),
        ],
    },
    Selection {
        operation: Operation::Alltoall,
        variable: c"POMBO_COLL_ALLTOALL",
        allowed: &[SpreadOut, Pairwise, Bruck, SharedMemory],
        // A payload is shared by all ranks, so long blocks take many rounds, and every rank needs a processor in each
        // round.
        rules: &[
            costly_waits(4, 256 << 10, SharedMemory),
            costly_waits(8, 64 << 10, SharedMemory),
            costly_waits(BOARDS, 8192, SharedMemory),
            costly_waits(32, ANY, SpreadOut),
            costly_waits(BOARDS, 64, Bruck),
            costly_waits(BOARDS, 8192, SpreadOut),
            costly_waits(BOARDS, ANY, Pairwise),
            one_host(2, PAIR_EXCHANGED, SpreadOut),
            rule(BOARDS, ANY, SharedMemory),
            rule(32, ANY, SpreadOut),
            rule(ANY, 64, Bruck),
            rule(ANY, 8192, SpreadOut),
            rule(ANY, ANY, Pairwise),
        ],
    },
    Selection {
        operation: Operation::Reduce,
        variable: c"POMBO_COLL_REDUCE",
        allowed: &[
            Linear,
            Binomial,
            Chain,
            TwoLevel,
            Adaptive,
            SharedMemory,
            Hierarchical,
        ],
        rules: &[
            costly_waits(BOARDS, ANY, SharedMemory),
            one_host(2, PAIR_DIRECT, Binomial),
            rule(BOARDS, ANY, SharedMemory),
            rule(ANY, ANY, Hierarchical),
            costly_waits(16, 8192, Linear),
            rule(ANY, 1 << 18, Binomial),
            one_host(2, ANY, Binomial),
            rule(16, ANY, Chain),
            rule(ANY, ANY, Binomial),
        ],
    },
    Selection {
        operation: Operation::Allreduce,
        variable: c"POMBO_COLL_ALLREDUCE",
        allowed: &[
            Linear,
            Binomial,
            Chain,
            RecursiveDoubling,
            Rabenseifner,
            Ring,
            SharedMemory,
            Hierarchical,
        ],
        rules: &[
            costly_waits(BOARDS, ANY, SharedMemory),
            one_host(2, PAIR_DIRECT, RecursiveDoubling),
            rule(BOARDS, ANY, SharedMemory),
            rule(ANY, ANY, Hierarchical),
            costly_waits(16, 4096, Linear),
            rule(ANY, 4096, RecursiveDoubling),
            rule(ANY, 1 << 18, Rabenseifner),
            rule(ANY, ANY, Ring),
        ],
    },
    Selection {
        operation: Operation::ReduceScatter,
        variable: c"POMBO_COLL_REDUCE_SCATTER",
        allowed: &[Linear, Binomial, Ring],
        rules: &[
            costly_waits(16, 4096, Linear),
            rule(ANY, 4096, Binomial),
            rule(ANY, ANY, Ring),
        ],
    },
    Selection {
        operation: Operation::Scan,
        variable: c"POMBO_COLL_SCAN",
        allowed: &[Chain, RecursiveDoubling],
        rules: &[rule(ANY, ANY, RecursiveDoubling)],
    },
    Selection {
        operation: Operation::Exscan,
        variable: c"POMBO_COLL_EXSCAN",
        allowed: &[Chain, RecursiveDoubling],
        rules: &[rule(ANY, ANY, RecursiveDoubling)],
    },
];

impl Algorithm {
    /// Returns whether messages alone carry the data.
    pub(super) const fn is_by_messages(self) -> bool {
        !matches!(self, Adaptive | Multicast | SharedMemory | Hierarchical)
    }
}

/// The algorithms that the hints of a communicator name, in the order of the table.
pub(crate) type Algorithms = [Option<Algorithm>; KINDS];

/// How a blocking call is carried out.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    /// It runs over shared memory, in this region.
    SharedMemory(u8),
    /// It takes one message, or one of each, between two ranks that have this region: see `direct`.
    Direct(u8),
    /// It runs hierarchically: see `hierarchical`.
    Hierarchical,
    Messages,
}

/// The method found last for each kind of operation, and for how many bytes: programs repeat their calls, and to select
/// takes as long as to send a short message.
pub(crate) type LastMethods = [Option<(usize, Method)>; KINDS];

/// Names of hints begin so; an operation follows, as in the name of its variable.
const HINT: &[u8] = b"pombo_coll_";

/// Returns whether a hint of a communicator names an algorithm for an operation. One that names none is reported where
/// the user wants to know.
pub(crate) fn is_hint(key: &[u8], value: &[u8], environment: &EnvironmentCopy) -> bool {
    let found = hinted(key, value).is_some();
    if !found && key.starts_with(HINT) && environment.is_on(VERBOSE) && phase::rank() == 0 {
        let shown = |bytes| core::str::from_utf8(bytes).unwrap_or("?");
        log::error(&text!(
            "pombo: the info key {} is ignored: '{}' is not an algorithm of it that `pombo info` lists",
            shown(key),
            shown(value)
        ));
    }
    found
}

/// Sets the algorithm that a hint names, if it is one.
pub(crate) fn set_hint(algorithms: &mut Algorithms, key: &[u8], value: &[u8]) {
    if let Some((place, algorithm)) = hinted(key, value) {
        algorithms[place] = Some(algorithm);
    }
}

fn hinted(key: &[u8], value: &[u8]) -> Option<(usize, Algorithm)> {
    let names = |choice: &Selection| {
        key.starts_with(HINT) && key.eq_ignore_ascii_case(choice.variable.to_bytes())
    };
    let place = TABLE.iter().position(names)?;
    let algorithm = TABLE[place].find(core::str::from_utf8(value).ok()?).ok()?;
    Some((place, algorithm))
}

impl Selection {
    /// The valid values of the variable.
    pub(crate) const MUST: &str = "one of the algorithms that `pombo info` lists";

    /// Returns the variable's name.
    pub fn variable(&self) -> &'static str {
        self.variable.to_str().unwrap_or("")
    }

    /// Returns the operation's name in small letters, as it stands at the end of the variable's.
    pub fn name(&self) -> alloc::string::String {
        let name = self.variable().trim_start_matches("POMBO_COLL_");
        name.to_ascii_lowercase()
    }

    /// Returns whether the variable may have this value.
    pub fn allows(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    pub(crate) fn find(&self, name: &str) -> Result<Algorithm, Error> {
        let mut allowed = self.allowed.iter().copied();
        allowed
            .find(|algorithm| algorithm.name() == name)
            .ok_or(Error::Argument {
                class: Class::Other,
                name: self.variable(),
                must: Self::MUST,
            })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm.name())?;
        if self.costly_waits {
            f.write_str(" where ranks share cores or are on several hosts")?;
        }
        if self.one_host {
            f.write_str(" where ranks are on one host")?;
        }
        match self.ranks {
            ANY => Ok(()),
            ranks => write!(f, " up to {ranks} ranks"),
        }?;
        match self.bytes {
            ANY => Ok(()),
            bytes => write!(f, " up to {bytes} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_its_rules_are_allowed() {
        for (place, choice) in TABLE.iter().enumerate() {
            assert_eq!(choice.operation as usize, place);
            assert!(choice.variable().starts_with("POMBO_COLL_"));
            let rules = choice.rules.iter();
            assert!(
                rules
                    .clone()
                    .all(|rule| choice.allowed.contains(&rule.algorithm))
            );
            let last = rules.last().expect("a rule");
            assert_eq!(
                (last.ranks, last.bytes, last.costly_waits),
                (ANY, ANY, false)
            );
            for algorithm in choice.allowed {
                assert_eq!(choice.find(algorithm.name()), Ok(*algorithm));
            }
            assert!(choice.find("none").is_err());
        }
    }
}
