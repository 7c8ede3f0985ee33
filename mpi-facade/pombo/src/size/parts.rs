//! What the parts of a program take, by the names of its functions and tables. Only `size` uses it.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use rustc_demangle::demangle;

/// The parts of a program.
pub(super) const PARTS: [&str; 10] = [
    "kernel",
    "transport",
    "collective",
    "netdrivers",
    "job",
    "core",
    "abi",
    "formatting",
    "Rust's libraries and others",
    "texts, constants, start and tables of the linker",
];

/// The packages of the first parts, as functions have them in their names.
const PACKAGES: [&str; 9] = [
    "pombo_kernel",
    "pombo_transport",
    "pombo_collective",
    "pombo_netdrivers",
    "pombo_job",
    "pombo_mpi",
    "mpi_abi",
    // Both MPIs are told as one.
    "pombo_basic",
    "mpi_basic",
];
/// The parts before the one that has two packages each: MPI and its C functions.
const MPI: usize = 5;
const ABI: usize = 6;
const FORMATTING: usize = 7;
const OTHERS: usize = 8;
const REST: usize = 9;

/// The bytes of a program.
#[derive(Default)]
pub(super) struct Sizes {
    /// Of the file.
    pub(super) file: u64,
    pub(super) text: u64,
    pub(super) data: u64,
    pub(super) bss: u64,
    /// By part, together the file.
    pub(super) parts: [u64; PARTS.len()],
}

impl Sizes {
    /// Returns the sizes of a program from the file with symbols and the length of the stripped one, which names no sections.
    pub(super) fn of(with_symbols: &[u8], stripped: u64) -> Self {
        let mut sizes = Sizes {
            file: stripped,
            ..Sizes::default()
        };
        if let Ok(file) = object::File::parse(with_symbols) {
            for section in file.sections() {
                // As the command `size` counts: what is only read counts as text.
                let of = match section.kind() {
                    SectionKind::UninitializedData => &mut sizes.bss,
                    SectionKind::Data => &mut sizes.data,
                    _ if section.address() != 0 => &mut sizes.text,
                    _ => continue,
                };
                *of += section.size();
            }
        }
        for symbol in symbols(with_symbols) {
            sizes.parts[part(&symbol.name)] += symbol.size;
        }
        let named: u64 = sizes.parts.iter().sum();
        sizes.parts[REST] = sizes.file.saturating_sub(named);
        sizes
    }
}

/// The size of a program of a composition.
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) sizes: Sizes,
    /// What a slot of an operation and one of a message without a receive take, in bytes.
    pub(super) slots: [u64; 2],
}

/// A function or a table of a program, with its place in the file's memory.
pub(super) struct Symbol {
    /// As Rust writes it, without the hash behind it.
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) size: u64,
}

/// Returns what takes room in the file, in the order of addresses; of several names of one place the first.
pub(super) fn symbols(program: &[u8]) -> Vec<Symbol> {
    let Ok(file) = object::File::parse(program) else {
        return Vec::new();
    };
    let takes_room = |symbol: &object::Symbol<'_, '_>| {
        let section = symbol.section_index();
        let section = section.and_then(|index| file.section_by_index(index).ok());
        symbol.size() > 0 && section.is_some_and(|it| it.kind() != SectionKind::UninitializedData)
    };
    let all = file.symbols().filter(takes_room);
    let mut all: Vec<Symbol> = all
        .map(|symbol| Symbol {
            name: format!("{:#}", demangle(symbol.name().unwrap_or_default())),
            address: symbol.address(),
            size: symbol.size(),
        })
        .collect();
    all.sort_by_key(|symbol| symbol.address);
    all.dedup_by_key(|symbol| symbol.address);
    all
}

/// Returns the part that a function or a table belongs to.
fn part(name: &str) -> usize {
    let shows = ["Display", "Debug", "LowerHex"];
    let formats = name.starts_with("core::fmt")
        || shows
            .iter()
            .any(|it| name.contains(&format!("as core::fmt::{it}>")));
    let first = PACKAGES.iter().enumerate();
    let first = first.filter_map(|(part, package)| Some((name.find(package)?, part)));
    match first.min() {
        _ if formats => FORMATTING,
        Some((_, part)) if part > ABI => part - ABI - 1 + MPI,
        Some((_, part)) => part,
        None if name.starts_with("MPI_") || name.starts_with("PMPI_") => ABI,
        None if name.contains("::") => OTHERS,
        None => REST,
    }
}

/// Returns what slots of the kernel's queues take, as a static library says of itself; zeros if it does not.
pub(super) fn slots(archive: &[u8]) -> [u64; 2] {
    let found = || -> Option<[u64; 2]> {
        let members = ArchiveFile::parse(archive).ok()?.members();
        members.flatten().find_map(|member| {
            let file = object::File::parse(member.data(archive).ok()?).ok()?;
            let symbol = file.symbols().find(|symbol| {
                let name = format!("{:#}", demangle(symbol.name().unwrap_or_default()));
                name.ends_with("environment::SLOT_BYTES")
            })?;
            let data = file
                .section_by_index(symbol.section_index()?)
                .ok()?
                .data()
                .ok()?;
            let from = data.get(symbol.address() as usize..)?;
            let number =
                |at: usize| Some(u64::from_le_bytes(from.get(at..at + 8)?.try_into().ok()?));
            Some([number(0)?, number(8)?])
        })
    };
    found().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_belong_to_who_wrote_them() {
        for (name, of) in [
            ("pombo_kernel::slab::Slab<T,A>::remove", "kernel"),
            ("<pombo_job::Text<_> as core::fmt::Write>::write_str", "job"),
            (
                "<pombo_mpi::error::Error as core::fmt::Display>::fmt",
                "formatting",
            ),
            ("core::fmt::write", "formatting"),
            (
                "core::ptr::drop_in_place<pombo_netdrivers::shm::channel::Shm>",
                "netdrivers",
            ),
            ("PMPI_Send", "abi"),
            ("alloc::vec::from_elem", "Rust's libraries and others"),
            ("_start", PARTS[REST]),
        ] {
            assert_eq!(PARTS[part(name)], of, "{name}");
        }
    }
}
