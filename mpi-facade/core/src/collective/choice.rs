//! Which algorithm carries out which operation: a table, measured, that a user can print (`pombo info`) and override
//! (`POMBO_COLL_<OPERATION>=<algorithm>`). All ranks of a job must choose alike.

use crate::error::{Class, Error};
use crate::init;
use core::ffi::CStr;

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
}

/// What is chosen up to so many ranks and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Only where ranks share cores?
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

/// The table, in the order of [`Operation`].
pub const TABLE: &[Choice] = &[
    Choice {
        operation: Operation::Barrier,
        variable: c"POMBO_COLL_BARRIER",
        allowed: &[Linear, Binomial, Doubling],
        rules: &[rule(ANY, ANY, Doubling)],
    },
    Choice {
        operation: Operation::Bcast,
        variable: c"POMBO_COLL_BCAST",
        allowed: &[Linear, Binomial, Chain, Scattered],
        rules: &[crowded(16, 1, Linear), rule(ANY, ANY, Binomial)],
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
        allowed: &[Ring, Turns, Doubling],
        rules: &[rule(ANY, ANY, Ring)],
    },
    Choice {
        operation: Operation::Alltoall,
        variable: c"POMBO_COLL_ALLTOALL",
        allowed: &[Turns, Pairs, Bruck],
        rules: &[rule(ANY, ANY, Turns)],
    },
    Choice {
        operation: Operation::Reduce,
        variable: c"POMBO_COLL_REDUCE",
        allowed: &[Linear, Binomial, Chain],
        rules: &[rule(ANY, ANY, Binomial)],
    },
    Choice {
        operation: Operation::Allreduce,
        variable: c"POMBO_COLL_ALLREDUCE",
        allowed: &[Linear, Binomial, Chain, Doubling, Halving, Ring],
        rules: &[rule(ANY, 8192, Doubling), rule(ANY, ANY, Halving)],
    },
    Choice {
        operation: Operation::ReduceScatter,
        variable: c"POMBO_COLL_REDUCE_SCATTER",
        allowed: &[Binomial, Ring],
        rules: &[rule(ANY, ANY, Ring)],
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

/// What this process chooses by.
pub(crate) struct Choices {
    /// What the environment wants, in the order of the table.
    wanted: [Option<Algorithm>; TABLE.len()],
    cores: usize,
}

impl Choices {
    /// From the environment.
    pub(crate) fn read() -> Result<Self, Error> {
        let mut wanted = [None; TABLE.len()];
        for (wanted, choice) in wanted.iter_mut().zip(TABLE) {
            *wanted = init::text(choice.variable)
                .map(|name| choice.find(name))
                .transpose()?;
        }
        Ok(Choices {
            wanted,
            cores: cores(),
        })
    }

    /// For so many ranks and bytes.
    pub(super) fn pick(&self, operation: Operation, ranks: usize, bytes: usize) -> Algorithm {
        let place = operation as usize;
        let holds = |rule: &&Rule| {
            ranks <= rule.ranks && bytes <= rule.bytes && (!rule.crowded || ranks > self.cores)
        };
        let choice = &TABLE[place];
        let ruled = choice.rules.iter().find(holds);
        let ruled = ruled.map_or(choice.allowed[0], |rule| rule.algorithm);
        self.wanted[place].unwrap_or(ruled)
    }
}

impl Choice {
    /// The variable as text.
    pub fn variable(&self) -> &'static str {
        self.variable.to_str().unwrap_or("")
    }

    fn find(&self, name: &str) -> Result<Algorithm, Error> {
        let mut allowed = self.allowed.iter().copied();
        allowed
            .find(|algorithm| algorithm.name() == name)
            .ok_or(Error::Argument {
                class: Class::Other,
                name: self.variable(),
                must: "one of the algorithms that `pombo info` lists",
            })
    }
}

/// Processors that this process may run on; 1 where the system does not say.
fn cores() -> usize {
    let mut mask = [0_u64; 16];
    // SAFETY: the mask is valid for its size, and the call writes no more; 0 is this thread.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    let set: u32 = mask.iter().map(|word| word.count_ones()).sum();
    if known == 0 { set.max(1) as usize } else { 1 }
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
        let small = choices.pick(Operation::Allreduce, 4, 8);
        let large = choices.pick(Operation::Allreduce, 4, 1 << 20);
        assert_ne!(small, large);
        choices.wanted[Operation::Allreduce as usize] = Some(Chain);
        assert_eq!(choices.pick(Operation::Allreduce, 4, 8), Chain);
    }
}
