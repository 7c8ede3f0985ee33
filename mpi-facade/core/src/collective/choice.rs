//! Which algorithm carries out which operation: a table, measured, that a user can print (`pombo info`) and override
//! (`POMBO_COLL_<OPERATION>=<algorithm>`). All ranks of a job must choose alike.

use crate::error::{Class, Error};
use core::ffi::CStr;
use core::fmt;
use pombo_job::environment;
use pombo_job::settings::LOCAL_CORES;

/// A collective operation, as far as algorithms are chosen for it. The forms with counts for every rank go with the
/// others, except that gatherv and scatterv are always `linear`.
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

/// How many operations there are.
pub(crate) const KINDS: usize = Operation::Exscan as usize + 1;

impl Operation {
    /// What the messages of so many calls of this kind carry, of 31 bits.
    pub(super) const fn tag(self, calls: u32) -> u32 {
        const BITS: u32 = 27;
        const _: () = assert!(KINDS <= 1 << (31 - BITS));
        (self as u32) << BITS | calls & ((1 << BITS) - 1)
    }
}

macro_rules! algorithms {
    ($($name:ident $text:literal $meaning:literal;)*) => {
        /// How an operation is carried out.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Algorithm {
            $(#[doc = concat!("`", $text, "`: ", $meaning, ".")] $name,)*
        }

        impl Algorithm {
            /// As the environment names it.
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
    Scattered "scattered" "scatter by a binomial tree, then all-gather on the ring";
    Ring "ring" "round the ring, block by block";
    Turns "turns" "everybody to everybody in shifted order, all at once";
    Pairs "pairs" "everybody to everybody in shifted order, one after the other";
    Doubling "doubling" "twice as much, or twice as far, in every round";
    Halving "halving" "reduce-scatter by halves, then all-gather by doubles";
    Bruck "bruck" "blocks that go the same way travel together";
    Cast "cast" "by the network's own broadcast, one frame for all; where ranks are on several hosts; blocking calls";
    Boards "boards" "over memory that all share, without messages; blocking calls of ranks on one host";
    Hosts "hosts" "inside every host first, then between the first ranks of all hosts; where ranks are on several hosts; blocking calls";
}

/// What is chosen up to so many ranks and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Only where waits cost more than messages: where ranks share cores, or are on several hosts?
    pub crowded: bool,
    /// Up to so many ranks.
    pub ranks: usize,
    /// Up to so many bytes: of the whole vector, of one block (gather, scatter, all-to-all), of all blocks together
    /// (all-gather, reduce-scatter).
    pub bytes: usize,
    /// Then this.
    pub algorithm: Algorithm,
}

/// One operation's algorithms.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Which one.
    pub operation: Operation,
    /// The environment variable that overrides the rules.
    pub variable: &'static CStr,
    /// What it may say.
    pub allowed: &'static [Algorithm],
    /// The first rule that holds decides; the last one always holds.
    pub rules: &'static [Rule],
}

const ANY: usize = usize::MAX;
/// The most ranks that use boards: each looks at all others.
const BOARDS: usize = 64;

const fn rule(ranks: usize, bytes: usize, algorithm: Algorithm) -> Rule {
    Rule {
        crowded: false,
        ranks,
        bytes,
        algorithm,
    }
}

const fn crowded(ranks: usize, bytes: usize, algorithm: Algorithm) -> Rule {
    Rule {
        crowded: true,
        ..rule(ranks, bytes, algorithm)
    }
}

use Algorithm::*;

/// The table, in the order of [`Operation`]. Measured on shared memory, 2 to 8 ranks on 2 cores, and between 4 and 8
/// hosts. Where ranks share cores it is waits that cost, not messages, so whoever talks to everybody at once is best;
/// so it is between hosts, as a message that a rank waits for takes as long as several that it sends.
pub const TABLE: &[Choice] = &[
    Choice {
        operation: Operation::Barrier,
        variable: c"POMBO_COLL_BARRIER",
        allowed: &[Linear, Binomial, Chain, Doubling, Boards, Hosts],
        rules: &[
            rule(BOARDS, ANY, Boards),
            rule(ANY, ANY, Hosts),
            crowded(16, ANY, Linear),
            rule(ANY, ANY, Doubling),
        ],
    },
    Choice {
        operation: Operation::Bcast,
        variable: c"POMBO_COLL_BCAST",
        allowed: &[Linear, Binomial, Chain, Scattered, Cast, Boards, Hosts],
        rules: &[
            rule(BOARDS, ANY, Boards),
            rule(ANY, ANY, Hosts),
            rule(ANY, ANY, Cast),
            crowded(16, ANY, Linear),
            rule(ANY, 1 << 18, Binomial),
            rule(7, ANY, Binomial),
            rule(ANY, ANY, Scattered),
        ],
    },
    Choice {
        operation: Operation::Gather,
        variable: c"POMBO_COLL_GATHER",
        allowed: &[Linear, Binomial],
        rules: &[rule(ANY, ANY, Linear)],
    },
    Choice {
        operation: Operation::Scatter,
        variable: c"POMBO_COLL_SCATTER",
        allowed: &[Linear, Binomial],
        rules: &[rule(ANY, ANY, Linear)],
    },
    Choice {
        operation: Operation::Allgather,
        variable: c"POMBO_COLL_ALLGATHER",
        allowed: &[Linear, Ring, Turns, Doubling, Boards, Hosts],
        rules: &[
            rule(BOARDS, ANY, Boards),
            rule(ANY, ANY, Hosts),
            crowded(16, 4096, Linear),
            crowded(16, ANY, Turns),
            rule(ANY, 8192, Doubling),
            rule(ANY, ANY, Ring),
        ],
    },
    Choice {
        operation: Operation::Alltoall,
        variable: c"POMBO_COLL_ALLTOALL",
        allowed: &[Turns, Pairs, Bruck, Boards],
        // A text has room for all ranks, so long blocks take many rounds, in each of which all ranks need a processor.
        rules: &[
            crowded(BOARDS, 8192, Boards),
            crowded(32, ANY, Turns),
            crowded(BOARDS, 64, Bruck),
            crowded(BOARDS, 8192, Turns),
            crowded(BOARDS, ANY, Pairs),
            rule(BOARDS, ANY, Boards),
            rule(32, ANY, Turns),
            rule(ANY, 64, Bruck),
            rule(ANY, 8192, Turns),
            rule(ANY, ANY, Pairs),
        ],
    },
    Choice {
        operation: Operation::Reduce,
        variable: c"POMBO_COLL_REDUCE",
        allowed: &[Linear, Binomial, Chain, Boards, Hosts],
        rules: &[
            rule(BOARDS, ANY, Boards),
            rule(ANY, ANY, Hosts),
            crowded(16, 8192, Linear),
            rule(ANY, 1 << 18, Binomial),
            rule(16, ANY, Chain),
            rule(ANY, ANY, Binomial),
        ],
    },
    Choice {
        operation: Operation::Allreduce,
        variable: c"POMBO_COLL_ALLREDUCE",
        allowed: &[
            Linear, Binomial, Chain, Doubling, Halving, Ring, Boards, Hosts,
        ],
        rules: &[
            rule(BOARDS, ANY, Boards),
            rule(ANY, ANY, Hosts),
            crowded(16, 4096, Linear),
            rule(ANY, 4096, Doubling),
            rule(ANY, 1 << 18, Halving),
            rule(ANY, ANY, Ring),
        ],
    },
    Choice {
        operation: Operation::ReduceScatter,
        variable: c"POMBO_COLL_REDUCE_SCATTER",
        allowed: &[Linear, Binomial, Ring],
        rules: &[
            crowded(16, 4096, Linear),
            rule(ANY, 4096, Binomial),
            rule(ANY, ANY, Ring),
        ],
    },
    Choice {
        operation: Operation::Scan,
        variable: c"POMBO_COLL_SCAN",
        allowed: &[Chain, Doubling],
        rules: &[rule(ANY, ANY, Doubling)],
    },
    Choice {
        operation: Operation::Exscan,
        variable: c"POMBO_COLL_EXSCAN",
        allowed: &[Chain, Doubling],
        rules: &[rule(ANY, ANY, Doubling)],
    },
];

/// The ranks of an operation, or of a part of it, and what they have beside messages.
#[derive(Clone, Copy, Default)]
pub(super) struct Ground {
    pub(super) ranks: usize,
    /// They are on several hosts.
    pub(super) apart: bool,
    /// Memory that all share.
    pub(super) boards: bool,
    /// A network that carries one frame to all.
    pub(super) cast: bool,
    /// Hosts of which some have several of them.
    pub(super) hosts: bool,
}

/// What this process chooses by.
pub(crate) struct Choices {
    /// What the environment wants, in the order of the table.
    wanted: [Option<Algorithm>; TABLE.len()],
    cores: usize,
}

/// From the environment. Values that name no algorithm were refused when the job began.
impl Default for Choices {
    fn default() -> Self {
        let wanted = |place: usize| {
            let choice: &Choice = &TABLE[place];
            environment::text(choice.variable).and_then(|name| choice.find(name).ok())
        };
        Choices {
            wanted: core::array::from_fn(wanted),
            cores: cores(),
        }
    }
}

impl Choices {
    /// For an operation of so many bytes.
    pub(super) fn pick(&self, operation: Operation, bytes: usize, ground: Ground) -> Algorithm {
        let can_be = |algorithm| match algorithm {
            Boards => ground.boards,
            Cast => ground.cast,
            Hosts => ground.hosts,
            _ => true,
        };
        let crowded = ground.apart || self.is_crowded(ground.ranks);
        let holds = |rule: &&Rule| {
            ground.ranks <= rule.ranks
                && bytes <= rule.bytes
                && (!rule.crowded || crowded)
                && can_be(rule.algorithm)
        };
        let place = operation as usize;
        let choice = &TABLE[place];
        let ruled = choice.rules.iter().find(holds);
        let ruled = ruled.map_or(choice.allowed[0], |rule| rule.algorithm);
        self.wanted[place]
            .filter(|wanted| can_be(*wanted))
            .unwrap_or(ruled)
    }

    /// May any operation use the network's own broadcast?
    #[cfg(feature = "hosts")]
    pub(super) fn wants_casts(&self) -> bool {
        let wanted = self.wanted[Operation::Bcast as usize];
        wanted.is_none_or(|wanted| matches!(wanted, Cast | Hosts))
    }

    /// Do so many ranks share cores?
    pub(super) fn is_crowded(&self, ranks: usize) -> bool {
        ranks > self.cores
    }
}

impl Choice {
    /// What the variable must be.
    pub(crate) const MUST: &str = "one of the algorithms that `pombo info` lists";

    /// The variable as text.
    pub fn variable(&self) -> &'static str {
        self.variable.to_str().unwrap_or("")
    }

    /// May the variable say this?
    pub fn allows(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    fn find(&self, name: &str) -> Result<Algorithm, Error> {
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
        if self.crowded {
            f.write_str(" where ranks share cores or are on several hosts")?;
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

/// Processors that the ranks of this machine share, as the launcher says, else all that there are: the same number for
/// every rank, wherever it may run itself.
fn cores() -> usize {
    let told = LOCAL_CORES.text().and_then(|cores| cores.parse().ok());
    told.filter(|&cores| cores > 0).unwrap_or_else(|| {
        // SAFETY: no demands.
        let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        usize::try_from(online).unwrap_or(1)
    })
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
            assert_eq!((last.ranks, last.bytes, last.crowded), (ANY, ANY, false));
            for algorithm in choice.allowed {
                assert_eq!(choice.find(algorithm.name()), Ok(*algorithm));
            }
            assert!(choice.find("none").is_err());
        }
    }

    #[test]
    fn the_first_rule_that_holds_decides() {
        let mut choices = Choices {
            wanted: [None; TABLE.len()],
            cores: 1,
        };
        let ground = Ground {
            ranks: 4,
            ..Ground::default()
        };
        let small = choices.pick(Operation::Allreduce, 8, ground);
        let large = choices.pick(Operation::Allreduce, 1 << 20, ground);
        assert_ne!(small, large);
        let all = Ground {
            boards: true,
            hosts: true,
            ..ground
        };
        assert_eq!(choices.pick(Operation::Allreduce, 8, all), Boards);
        choices.wanted[Operation::Allreduce as usize] = Some(Chain);
        assert_eq!(choices.pick(Operation::Allreduce, 8, all), Chain);
        choices.wanted[Operation::Allreduce as usize] = Some(Hosts);
        assert_eq!(choices.pick(Operation::Allreduce, 8, all), Hosts);
        assert_eq!(choices.pick(Operation::Allreduce, 8, ground), small);
    }
}
