//! All small programs within bounds, up to renaming ranks and tags.

use crate::explore::Program;
use crate::rank::{Act, Kind, Wish};
use std::collections::HashSet;

pub(crate) const TAGS: [u8; 2] = [1, 2];

/// Returns all sends to one rank.
pub(crate) fn sends(to: u8, tags: &[u8], kinds: &[Kind]) -> Vec<Act> {
    let tags = tags.iter();
    tags.flat_map(|&tag| kinds.iter().map(move |&kind| Act::Send { to, tag, kind }))
        .collect()
}

/// Returns all patterns of these sources and tags, or of any tag.
pub(crate) fn wishes(sources: &[Option<u8>]) -> Vec<Wish> {
    let tags = [Some(1), Some(2), None];
    let sources = sources.iter();
    sources
        .flat_map(|&source| tags.map(|tag| Wish { source, tag }))
        .collect()
}

pub(crate) fn receives(sources: &[Option<u8>], rooms: &[u8]) -> Vec<Act> {
    let wishes = wishes(sources).into_iter();
    wishes
        .flat_map(|wish| rooms.iter().map(move |&room| Act::Receive { wish, room }))
        .collect()
}

/// Returns all lists of that many acts.
pub(crate) fn lists(acts: &[Act], len: usize) -> Vec<Vec<Act>> {
    (0..len).fold(vec![Vec::new()], |lists, _| {
        let longer = |list: &Vec<Act>| {
            let list = list.clone();
            acts.iter()
                .map(move |act| [&list[..], &[*act]].concat())
                .collect::<Vec<_>>()
        };
        lists.iter().flat_map(longer).collect()
    })
}

/// Returns all lists of one up to that many acts.
pub(crate) fn lists_up_to(acts: &[Act], len: usize) -> Vec<Vec<Act>> {
    (1..=len).flat_map(|len| lists(acts, len)).collect()
}

/// Returns the list with these consecutive acts inserted at every position.
pub(crate) fn with(list: &[Act], acts: &[Act]) -> Vec<Vec<Act>> {
    (0..=list.len())
        .map(|at| [&list[..at], acts, &list[at..]].concat())
        .collect()
}

/// Returns the list with one of its operations cancelled, at every later position.
pub(crate) fn with_cancel(list: &[Act]) -> Vec<Vec<Act>> {
    with_act(list, Act::Cancel)
}

/// Returns the list with one of its operations detached, at every later position.
pub(crate) fn with_detach(list: &[Act]) -> Vec<Vec<Act>> {
    with_act(list, Act::Detach)
}

fn with_act(list: &[Act], act_on: fn(u8) -> Act) -> Vec<Vec<Act>> {
    let mut all = Vec::new();
    let mut operation = 0;
    for (at, act) in list.iter().enumerate() {
        if matches!(act, Act::Send { .. } | Act::Receive { .. } | Act::Take) {
            for place in at + 1..=list.len() {
                all.push([&list[..place], &[act_on(operation)], &list[place..]].concat());
            }
            operation += 1;
        }
    }
    all
}

/// Returns the list with a scope around every part of it.
pub(crate) fn with_scope(list: &[Act]) -> Vec<Vec<Act>> {
    let mut all = Vec::new();
    for from in 0..list.len() {
        for to in from + 1..=list.len() {
            let open = [&list[..from], &[Act::Open], &list[from..to]].concat();
            all.push([&open[..], &[Act::Close], &list[to..]].concat());
        }
    }
    all
}

/// A set of programs that differ in more than the names of ranks and tags.
#[derive(Default)]
pub(crate) struct Programs {
    seen: HashSet<Program>,
    all: Vec<Program>,
}

impl Programs {
    pub(crate) fn add(&mut self, program: Program) {
        if self.seen.insert(canonical(&program)) {
            self.all.push(program);
        }
    }

    /// Returns the programs, the shortest first.
    pub(crate) fn finish(mut self) -> Vec<Program> {
        let len = |program: &Program| program.iter().map(Vec::len).sum::<usize>();
        self.all.sort_by_key(len);
        self.all
    }
}

fn canonical(program: &Program) -> Program {
    let ranks = program.len() as u8;
    let renamings: &[[u8; 3]] = match ranks {
        1 => &[[0, 1, 2]],
        2 => &[[0, 1, 2], [1, 0, 2]],
        _ => &[
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ],
    };
    let renamed = renamings
        .iter()
        .flat_map(|ranks| [[0, 1, 2], [0, 2, 1]].map(|tags| rename(program, ranks, &tags)));
    renamed.min().unwrap_or_default()
}

fn rename(program: &Program, ranks: &[u8; 3], tags: &[u8; 3]) -> Program {
    let rank = |rank: u8| ranks[usize::from(rank)];
    let tag = |tag: u8| tags[usize::from(tag)];
    let wish = |wish: Wish| Wish {
        source: wish.source.map(rank),
        tag: wish.tag.map(tag),
    };
    let mut renamed = vec![Vec::new(); program.len()];
    for (from, acts) in program.iter().enumerate() {
        let acts = acts.iter().map(|act| match *act {
            Act::Send { to, tag: t, kind } => Act::Send {
                to: rank(to),
                tag: tag(t),
                kind,
            },
            Act::Receive { wish: w, room } => Act::Receive {
                wish: wish(w),
                room,
            },
            Act::Probe(w) => Act::Probe(wish(w)),
            Act::Await(w) => Act::Await(wish(w)),
            Act::Matched(w) => Act::Matched(wish(w)),
            Act::AwaitMatched(w) => Act::AwaitMatched(wish(w)),
            other => other,
        });
        renamed[usize::from(rank(from as u8))] = acts.collect();
    }
    renamed
}
