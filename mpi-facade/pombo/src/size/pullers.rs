//! Who brings a function into a program: the shortest way from `main` to it along references. Only `size` uses it.

use std::collections::VecDeque;

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

use super::parts::{Symbol, symbols};

/// Returns the names on the shortest way to a function whose name begins with `wanted`, that function first; `None` if the
/// program has no such function. A program linked with its relocations shows the way, another one only the function.
pub(super) fn chain(program: &[u8], wanted: &str) -> Option<Vec<String>> {
    let all = symbols(program);
    let found = all.iter().position(|it| belongs(&it.name, wanted))?;
    let above = way_from_main(program, &all);
    // One that main reaches explains more than a table that another one has kept.
    let reached = |index: &usize| above[*index].is_some();
    let mut others = (0..all.len()).filter(|index| belongs(&all[*index].name, wanted));
    let mut at = others.find(reached).unwrap_or(found);
    let mut names = vec![all[at].name.clone()];
    while let Some(next) = above[at].filter(|next| *next != at) {
        names.push(all[next].name.clone());
        at = next;
    }
    Some(names)
}

/// Returns whether a function is one of that module, or implements something for a type of it.
fn belongs(name: &str, module: &str) -> bool {
    let name = name.trim_start_matches(['<', '&']);
    name.strip_prefix(module)
        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

/// Returns for each function or table the one that refers to it on the shortest way from `main`, itself for `main`.
fn way_from_main(program: &[u8], all: &[Symbol]) -> Vec<Option<usize>> {
    let mut above = vec![None; all.len()];
    let references = references(program, all);
    let main = all.iter().position(|it| it.name == "main");
    let mut next: VecDeque<usize> = main.into_iter().collect();
    if let Some(main) = main {
        above[main] = Some(main);
    }
    while let Some(from) = next.pop_front() {
        for &to in &references[from] {
            if above[to].is_none() {
                above[to] = Some(from);
                next.push_back(to);
            }
        }
    }
    above
}

/// Returns what each function or table refers to.
fn references(program: &[u8], all: &[Symbol]) -> Vec<Vec<usize>> {
    let mut references = vec![Vec::new(); all.len()];
    let at = |address: u64| {
        let index = all
            .partition_point(|it| it.address <= address)
            .checked_sub(1)?;
        (address < all[index].address + all[index].size).then_some(index)
    };
    let Ok(file) = object::File::parse(program) else {
        return references;
    };
    for section in file.sections() {
        for (place, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                continue;
            };
            let Ok(symbol) = file.symbol_by_index(symbol) else {
                continue;
            };
            // A reference from code is relative to the end of the instruction's four bytes.
            let addend = relocation.addend() + if relocation.size() == 32 { 4 } else { 0 };
            let exact = at(symbol.address().wrapping_add_signed(addend));
            let to = exact.or_else(|| at(symbol.address()));
            // In a program places are addresses already; in an object they count from the section.
            if let (Some(from), Some(to)) = (at(place), to)
                && from != to
            {
                references[from].push(to);
            }
        }
    }
    references
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_whole_words() {
        assert!(belongs("core::fmt::write", "core::fmt"));
        assert!(belongs(
            "<pombo_mpi::op::Op as Drop>::drop",
            "pombo_mpi::op"
        ));
        assert!(!belongs("pombo_mpi::opening::x", "pombo_mpi::op"));
        assert!(!belongs("pombo_mpi::op_names::x", "pombo_mpi::op"));
        assert!(!belongs("<A as core::fmt::Write>::write_str", "core::fmt"));
    }
}
