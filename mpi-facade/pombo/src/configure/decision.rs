//! The composition that a program needs, decided from facts by one table. `mod.rs` calls [`decide`]; `print` tells.
//! Source: the EPOS thesis, sections 4.3 and 4.4: the lowest level that the program's own symbols ask for.

use std::fmt;

use super::facts::{Facts, Kind, Use};
use crate::mpi_names;

/// How much of datatypes the program uses; each level includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Bytes: the extent is 1.
    None,
    /// Values of basic types.
    Basic,
    /// Several values of one basic type.
    Contiguous,
    /// Values at any displacements.
    Full,
}

impl Level {
    pub(super) fn name(self) -> &'static str {
        ["none", "basic", "contiguous", "full"][self as usize]
    }
}

/// A part of the composition, and what caused it.
#[derive(Debug)]
pub(crate) struct Decision<T> {
    pub(super) value: T,
    pub(super) why: String,
}

/// What a program needs. `print` has the meaning of each in words.
#[derive(Debug)]
pub(crate) struct Composition {
    /// Whether the smallest library serves it, which is then all of it.
    pub(super) basic: Decision<bool>,
    pub(super) datatypes: Decision<Level>,
    pub(super) rendezvous: Decision<bool>,
    pub(super) buffering: Decision<bool>,
    pub(super) any_source: Decision<bool>,
    pub(super) any_tag: Decision<bool>,
    /// Whether receives are posted and left, so that many can be; else a list is searched as fast.
    pub(super) adaptive_matcher: Decision<bool>,
    pub(super) collectives: Decision<bool>,
    pub(super) in_place: Decision<bool>,
    pub(super) hosts: Decision<bool>,
    pub(super) heterogeneous: Decision<bool>,
    pub(super) diagnostics: Decision<bool>,
}

/// What no file tells, but the user.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Told {
    /// Ranks on several hosts.
    pub(crate) hosts: bool,
    /// Machines of both byte orders.
    pub(crate) heterogeneous: bool,
    /// Errors in sentences, and answers to `pombo explain`.
    pub(crate) diagnostics: bool,
    /// Bytes of the longest message between two ranks.
    pub(crate) longest: Option<u64>,
}

/// What a function asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Basic,
    Contiguous,
    Full,
    /// A message whose length decides.
    Sends,
    /// Messages that wait for their receive whatever their length, or whose length grows with the number of ranks.
    Rendezvous,
    /// Messages that a program sends and leaves, so that their receiver may lack room for one it does not wait for.
    Leaves,
    Buffering,
    Receives,
    /// A message between two ranks, in whatever way.
    Messages,
    /// Receives that are posted before they are waited for.
    Posts,
    Collectives,
    /// Collective calls that carry data.
    Data,
}

/// The table: functions without MPI_ and _c in small letters, separated by spaces; `*` stands for any letters.
const NEEDS: [(Need, &str); 12] = [
    (
        Need::Full,
        "type_vector type_indexed type_create_hvector type_create_hindexed* type_create_indexed_block type_create_struct \
         type_create_subarray type_create_darray type_create_resized type_struct type_f2c type_fromint type_create_f90_* \
         pack_external* unpack_external*",
    ),
    (Need::Contiguous, "type_contiguous type_dup"),
    (
        Need::Basic,
        "*reduce* *scan* *accumulate* fetch_and_op compare_and_swap type_match_size",
    ),
    (
        Need::Sends,
        "send rsend isend irsend send_init rsend_init bsend ibsend bsend_init sendrecv* isendrecv* psend_init",
    ),
    (
        Need::Rendezvous,
        "ssend issend ssend_init comm_create comm_create_group comm_create_from_group comm_split* intercomm_* \
         cart_create cart_sub graph_create dist_graph_create*",
    ),
    (
        Need::Leaves,
        "isend send_init bsend* ibsend sendrecv_replace isendrecv* psend_init irsend rsend_init start startall",
    ),
    (
        Need::Buffering,
        "bsend* ibsend *buffer_attach *attach_buffer",
    ),
    (Need::Receives, "*recv* *probe"),
    (Need::Messages, "*send* *recv*"),
    (Need::Posts, "irecv imrecv recv_init precv_init isendrecv*"),
    (
        Need::Collectives,
        "barrier* ibarrier comm_create comm_create_group comm_create_from_group comm_dup* comm_idup* comm_split* \
         comm_spawn* comm_accept comm_connect comm_join comm_disconnect intercomm_* cart_create cart_sub graph_create \
         dist_graph_create* win_create* win_allocate* win_fence win_free file_*",
    ),
    (
        Need::Data,
        "*bcast* *gather* *scatter* *alltoall* reduce reduce_init ireduce *allreduce* *scan*",
    ),
];

/// What the smallest library reduces, and how.
const NUMBERS: [&str; 8] = [
    "MPI_INT",
    "MPI_INT32_T",
    "MPI_LONG",
    "MPI_LONG_LONG",
    "MPI_LONG_LONG_INT",
    "MPI_INT64_T",
    "MPI_FLOAT",
    "MPI_DOUBLE",
];
const OPERATIONS: [&str; 5] = ["MPI_OP_NULL", "MPI_SUM", "MPI_PROD", "MPI_MIN", "MPI_MAX"];

/// Functions of these names are about objects and not among the ranks.
const EXCEPT: &str = "win_create_keyval win_create_errhandler file_*_errhandler";

fn needs(function: &str, need: Need) -> bool {
    let name = function.trim_start_matches("MPI_").to_ascii_lowercase();
    let name = name.strip_suffix("_c").unwrap_or(&name);
    let is_one = |patterns: &str| patterns.split(' ').any(|pattern| matches(name, pattern));
    let asks = |(what, patterns): &(Need, &str)| *what == need && is_one(patterns);
    !is_one(EXCEPT) && NEEDS.iter().any(asks)
}

/// Returns whether a name fits a pattern.
fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            rest.is_empty()
                || (0..=name.len())
                    .any(|at| name.is_char_boundary(at) && matches(&name[at..], rest))
        }),
    }
}

/// The level that a datatype asks for.
fn level(constant: &str) -> Option<Level> {
    match constant {
        "MPI_ANY_SOURCE" | "MPI_ANY_TAG" | "MPI_COMM_SELF" | "MPI_IN_PLACE"
        | "MPI_DATATYPE_NULL" => None,
        operation if mpi_names::is_operation(operation) => None,
        "MPI_BYTE" | "MPI_PACKED" | "MPI_CHAR" | "MPI_SIGNED_CHAR" | "MPI_UNSIGNED_CHAR"
        | "MPI_INT8_T" | "MPI_UINT8_T" => Some(Level::None),
        "MPI_2INT" | "MPI_2REAL" | "MPI_2DOUBLE_PRECISION" | "MPI_2INTEGER" => {
            Some(Level::Contiguous)
        }
        // Values of two types, most of them with a gap behind, and the ends that a layout is given.
        "MPI_LB" | "MPI_UB" => Some(Level::Full),
        "MPI_INT" | "MPI_LONG_LONG_INT" => Some(Level::Basic),
        pair if pair.ends_with("_INT") => Some(Level::Full),
        _ => Some(Level::Basic),
    }
}

/// Decides. `eager` is the longest message in bytes that is sent without asking.
pub(crate) fn decide(facts: &Facts, told: &Told, eager: u64) -> Composition {
    let facts = Reader(facts);
    let basic = facts.basic(told, eager);
    let by_basic = |otherwise: &dyn Fn() -> Decision<bool>, why| match basic.value {
        true => no(why),
        false => otherwise(),
    };
    Composition {
        datatypes: facts.datatypes(),
        rendezvous: match told.hosts || told.heterogeneous {
            _ if basic.value => no("messages and pieces of collective calls are short"),
            true => yes("ranks on several hosts start by it"),
            false => facts.rendezvous(told.longest.filter(|longest| *longest <= eager)),
        },
        buffering: facts.flag(Need::Buffering, "no call of MPI_Bsend or MPI_Buffer_attach"),
        any_source: facts.wildcard("MPI_ANY_SOURCE"),
        any_tag: facts.wildcard("MPI_ANY_TAG"),
        adaptive_matcher: by_basic(
            &|| facts.flag(Need::Posts, "at most one receive is posted at a time"),
            "the smallest library has no other",
        ),
        collectives: facts
            .first(&[Need::Collectives, Need::Data])
            .unwrap_or_else(|| no("no collective call")),
        in_place: match facts.first(&[Need::Data]) {
            Some(_) => facts.constant("MPI_IN_PLACE"),
            None => facts
                .unknown()
                .unwrap_or_else(|| no("no collective call with data")),
        },
        hosts: by_user(
            told.hosts || told.heterogeneous,
            "--hosts says so",
            "no file tells; --hosts if ranks are on several hosts",
        ),
        heterogeneous: by_user(
            told.heterogeneous,
            "--heterogeneous says so",
            "no file tells; --heterogeneous if machines differ in byte order",
        ),
        basic,
        diagnostics: by_user(
            told.diagnostics,
            "--diagnostics says so",
            "no file tells; --diagnostics for errors in sentences and pombo explain",
        ),
    }
}

fn no(why: &str) -> Decision<bool> {
    Decision {
        value: false,
        why: why.to_owned(),
    }
}

fn yes(why: impl fmt::Display) -> Decision<bool> {
    Decision {
        value: true,
        why: why.to_string(),
    }
}

fn by_user(value: bool, told: &str, otherwise: &str) -> Decision<bool> {
    if value { yes(told) } else { no(otherwise) }
}

/// Questions to the facts.
struct Reader<'a>(&'a Facts);

impl Reader<'_> {
    fn call(&self, need: Need) -> Option<&Use> {
        self.0.of(Kind::Call).find(|call| needs(&call.name, need))
    }

    /// What makes everything necessary.
    fn unknown(&self) -> Option<Decision<bool>> {
        self.0.of(Kind::Unknown).next().map(yes)
    }

    fn first(&self, needs: &[Need]) -> Option<Decision<bool>> {
        let called = || needs.iter().find_map(|need| self.call(*need)).map(yes);
        self.unknown().or_else(called)
    }

    fn flag(&self, need: Need, otherwise: &str) -> Decision<bool> {
        self.first(&[need]).unwrap_or_else(|| no(otherwise))
    }

    /// Returns whether a constant is used: without its source nobody knows.
    fn constant(&self, name: &str) -> Decision<bool> {
        let found = || {
            self.0
                .of(Kind::Constant)
                .find(|found| found.name == name)
                .map(yes)
        };
        let hidden = || {
            let place = self.0.without_source.as_ref()?;
            Some(yes(format!(
                "{name} may be used: {place} has no symbols of constants, and its source is not given"
            )))
        };
        self.unknown()
            .or_else(found)
            .or_else(hidden)
            .unwrap_or_else(|| no(&format!("no {name}")))
    }

    fn wildcard(&self, name: &str) -> Decision<bool> {
        match self.first(&[Need::Receives]) {
            Some(_) => self.constant(name),
            None => no("nothing is received"),
        }
    }

    /// Decides whether the smallest library serves the program: it has all functions that are called, on what they are
    /// called, and all messages are short.
    fn basic(&self, told: &Told, eager: u64) -> Decision<bool> {
        let has_more = |call: &&Use| !mpi_names::is_basic(&call.name);
        let lacks = |constant: &&Use| {
            let name = &*constant.name;
            let reduces = self.call(Need::Basic).is_some();
            name == "MPI_COMM_SELF"
                || mpi_names::is_operation(name) && !OPERATIONS.contains(&name)
                || reduces && level(name).is_some() && !NUMBERS.contains(&name)
        };
        let cause = self.unknown().map(|unknown| unknown.why);
        let cause = cause.or_else(|| {
            let call = self.0.of(Kind::Call).find(has_more);
            let call = call.or_else(|| self.call(Need::Leaves));
            Some(
                call.or_else(|| self.0.of(Kind::Constant).find(lacks))?
                    .to_string(),
            )
        });
        let datatypes = self.datatypes();
        if let Some(cause) = cause {
            return no(&cause);
        }
        if datatypes.value > Level::Basic {
            return no(&datatypes.why);
        }
        if let Some(place) = &self.0.without_source {
            return no(&format!(
                "{place} has no symbols of constants such as MPI_COMM_SELF, and its source is not given"
            ));
        }
        match told.longest {
            _ if told.hosts || told.heterogeneous || told.diagnostics => {
                no("it is for one host, without sentences")
            }
            Some(longest) if longest <= eager => yes(format!(
                "--longest says {longest} bytes, and all calls are in it"
            )),
            Some(longest) => no(&format!(
                "--longest says {longest} bytes, more than {eager}"
            )),
            None => no(&format!(
                "no file tells how long messages are; --longest if at most {eager} bytes"
            )),
        }
    }

    fn rendezvous(&self, longest: Option<u64>) -> Decision<bool> {
        let must = [
            Need::Rendezvous,
            Need::Data,
            Need::Leaves,
            Need::Collectives,
        ];
        let (Some(longest), None) = (longest, self.first(&must)) else {
            let cause = self.first(&[&must[..], &[Need::Sends]].concat());
            return cause.unwrap_or_else(|| no("nothing is sent"));
        };
        no(&format!(
            "--longest says {longest} bytes, which are sent without asking"
        ))
    }

    /// The highest of the levels that something asks for, with the first that does.
    fn datatypes(&self) -> Decision<Level> {
        let choice = |value, why: &dyn fmt::Display| Decision {
            value,
            why: why.to_string(),
        };
        if let Some(unknown) = self.0.of(Kind::Unknown).next() {
            return choice(Level::Full, unknown);
        }
        let by_calls = [
            (Level::Full, Need::Full),
            (Level::Contiguous, Need::Contiguous),
            (Level::Basic, Need::Basic),
        ];
        let by_calls = by_calls
            .into_iter()
            .filter_map(|(level, need)| Some((level, self.call(need)?)));
        let by_constants = self
            .0
            .of(Kind::Constant)
            .filter_map(|used| Some((level(&used.name)?, used)));
        // An object alone does not show whether it reduces pairs such as MPI_DOUBLE_INT, which have gaps.
        if let (Some(reduces), Some(place)) = (self.call(Need::Basic), &self.0.without_source) {
            let why = format!(
                "{reduces}: pairs such as MPI_DOUBLE_INT have no symbols, and the source of {place} is not given"
            );
            return choice(Level::Full, &why);
        }
        // `max_by_key` takes the last of equals.
        let asked = by_calls
            .chain(by_constants)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .max_by_key(|(level, _)| *level);
        let message = [Need::Messages, Need::Data]
            .into_iter()
            .find_map(|need| self.call(need));
        match (asked, message, &self.0.without_source) {
            (Some((level, why)), ..) if level > Level::None => choice(level, why),
            (_, Some(_), Some(place)) => choice(
                Level::Basic,
                &format!(
                    "{place} has no symbols of constants, and its source is not given: basic types at least"
                ),
            ),
            (None, Some(message), None) => choice(
                Level::Full,
                &format!("{message}: its datatype is in none of the files"),
            ),
            (Some((level, why)), ..) => choice(level, why),
            (None, None, _) => choice(Level::None, &"no message has a datatype"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (name, pattern) in [
            ("bcast", "*bcast*"),
            ("ibcast_init", "*bcast*"),
            ("irecv", "*recv*"),
            ("a", "*"),
            ("file_get_errhandler", "file_*_errhandler"),
        ] {
            assert!(matches(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("bcas", "*bcast*"), ("send_init", "send"), ("", "a*")] {
            assert!(!matches(name, pattern), "{name} {pattern}");
        }
    }

    /// Every pattern stands for a function of MPI, and functions that sound alike are told apart.
    #[test]
    fn the_table_names_functions() {
        let exports: Vec<&str> = include_str!("../../../abi/exports.txt")
            .split_whitespace()
            .chain(["MPI_Type_struct", "MPI_Type_f2c"])
            .collect();
        for (_, patterns) in NEEDS {
            for pattern in patterns.split(' ') {
                let fits = |name: &&str| {
                    matches(
                        &name.trim_start_matches("MPI_").to_ascii_lowercase(),
                        pattern,
                    )
                };
                assert!(exports.iter().any(fits), "{pattern}");
            }
        }
        for (name, need, expected) in [
            ("MPI_Reduce_local", Need::Data, false),
            ("MPI_Reduce_local", Need::Basic, true),
            ("MPI_Reduce_scatter_block_init_c", Need::Data, true),
            ("MPI_Dist_graph_neighbors", Need::Data, false),
            ("MPI_Neighbor_alltoallw_c", Need::Data, true),
            ("MPI_Comm_create_keyval", Need::Collectives, false),
            ("MPI_Comm_split_type", Need::Collectives, true),
            ("MPI_Rsend", Need::Sends, true),
            ("MPI_Send_c", Need::Sends, true),
            ("MPI_Type_contiguous_c", Need::Contiguous, true),
            ("MPI_Session_attach_buffer", Need::Buffering, true),
            ("MPI_Win_create_keyval", Need::Collectives, false),
            ("MPI_File_get_errhandler", Need::Collectives, false),
        ] {
            assert_eq!(needs(name, need), expected, "{name}");
        }
    }

    #[test]
    fn levels_of_constants() {
        for (name, expected) in [
            ("MPI_BYTE", Level::None),
            ("MPI_DOUBLE", Level::Basic),
            ("MPI_INT", Level::Basic),
            ("MPI_LONG_LONG_INT", Level::Basic),
            ("MPI_2INT", Level::Contiguous),
            ("MPI_DOUBLE_INT", Level::Full),
            ("MPI_UB", Level::Full),
        ] {
            assert_eq!(level(name), Some(expected), "{name}");
        }
        assert_eq!(level("MPI_ANY_TAG"), None);
    }
}
