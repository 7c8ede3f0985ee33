//! What compiled files use of MPI: functions from the undefined symbols of an object or from the dynamic ones of a
//! program, and whether they are only called or their addresses taken. `mod.rs` calls it.

use std::collections::HashMap;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::read::{
    Architecture, File, Object, ObjectKind, ObjectSection, ObjectSymbol, Relocation,
    RelocationTarget, SymbolIndex,
};
use object::{RelocationFlags, SectionFlags, SymbolKind};
use object::{archive, elf};

use super::facts::{Facts, Kind, Place};
use crate::mpi_names::{self, LOOKUPS};

/// Returns whether a file begins as an object, a program, a library or an archive does.
pub(super) fn is_compiled(data: &[u8]) -> bool {
    is_archive(data) || data.starts_with(&elf::ELFMAG)
}

fn is_archive(data: &[u8]) -> bool {
    data.starts_with(&archive::MAGIC) || data.starts_with(&archive::THIN_MAGIC)
}

/// Adds what a compiled file uses. `sources` are the names of the sources that are read too.
///
/// # Errors
/// What is wrong with the file, and what to do.
pub(super) fn read(
    path: &Path,
    data: &[u8],
    sources: &[&str],
    facts: &mut Facts,
) -> Result<(), String> {
    let name = path.to_string_lossy();
    if !is_archive(data) {
        return file(data, &name, sources, facts);
    }
    let damaged = |error| format!("its archive is damaged: {error}");
    let archive = ArchiveFile::parse(data).map_err(damaged)?;
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let inside = String::from_utf8_lossy(member.name());
        if member.is_thin() {
            let place = path.with_file_name(&*inside);
            let data = std::fs::read(&place).map_err(|error| {
                format!("its member {} cannot be read: {error}", place.display())
            })?;
            file(&data, &format!("{name}({inside})"), sources, facts)?;
            continue;
        }
        let data = member.data(data).map_err(damaged)?;
        // What is no object in an archive, the linker does not take.
        if is_compiled(data) {
            file(data, &format!("{name}({inside})"), sources, facts)?;
        }
    }
    Ok(())
}

fn file(data: &[u8], name: &str, sources: &[&str], facts: &mut Facts) -> Result<(), String> {
    let file = File::parse(data).map_err(|error| format!("it is damaged: {error}"))?;
    let place = Place::of(name);
    let mut uses = Uses {
        names: HashMap::new(),
        place: &place,
        facts,
    };
    match file.kind() {
        ObjectKind::Relocatable => object(&file, &mut uses),
        _ => program(&file, &mut uses),
    }
    if !uses.names.is_empty() && !is_covered(&file, sources) {
        facts.without_source.get_or_insert(place);
    }
    Ok(())
}

/// What one file uses.
struct Uses<'a> {
    /// The symbols that are functions of MPI, by their index.
    names: HashMap<SymbolIndex, String>,
    place: &'a Place,
    facts: &'a mut Facts,
}

impl Uses<'_> {
    fn add(&mut self, kind: Kind, name: String) {
        self.facts.add(kind, name, self.place.clone());
    }

    /// Notes a symbol that the file does not define itself.
    fn symbol(&mut self, index: SymbolIndex, name: &str) {
        if LOOKUPS.contains(&name) {
            self.add(
                Kind::Unknown,
                format!("{name}, which finds functions when the program runs"),
            );
        } else if let Some(base) = mpi_names::function(name) {
            self.add(Kind::Call, base.to_owned());
            self.names.insert(index, base.to_owned());
        } else if mpi_names::is_unknown(name) {
            self.add(
                Kind::Unknown,
                format!("{name}, which is no function of MPI 5.0"),
            );
        }
    }

    fn address(&mut self, function: &str) {
        self.add(Kind::Unknown, format!("the address of {function}"));
    }
}

fn object(file: &File<'_>, uses: &mut Uses<'_>) {
    for symbol in file.symbols() {
        match symbol.name() {
            Ok("__gnu_lto_slim") => uses.add(
                Kind::Unknown,
                "code for -flto, which has no symbols yet: compile with -ffat-lto-objects"
                    .to_owned(),
            ),
            Ok(name) if symbol.is_undefined() => uses.symbol(symbol.index(), name),
            _ => {}
        }
    }
    for section in file.sections().filter(is_loaded) {
        let code = section.data().unwrap_or_default();
        for (offset, relocation) in section.relocations() {
            let Some(function) = target(&relocation, uses) else {
                continue;
            };
            let before = usize::try_from(offset)
                .ok()
                .and_then(|offset| code.get(..offset));
            if !is_call(file.architecture(), &relocation, before.unwrap_or_default()) {
                uses.address(&function);
            }
        }
    }
}

fn program(file: &File<'_>, uses: &mut Uses<'_>) {
    for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_undefined) {
        let Ok(name) = symbol.name() else { continue };
        uses.symbol(symbol.index(), name);
        // A program at a fixed address gives such a function an address of its own only to compare or to keep it.
        if symbol.address() != 0
            && let Some(function) = mpi_names::function(name)
        {
            uses.address(function);
        }
    }
    for (_, relocation) in file.dynamic_relocations().into_iter().flatten() {
        if let Some(function) = target(&relocation, uses)
            && !is_slot(file.architecture(), &relocation)
        {
            uses.address(&function);
        }
    }
}

fn target(relocation: &Relocation, uses: &Uses<'_>) -> Option<String> {
    match relocation.target() {
        RelocationTarget::Symbol(symbol) => uses.names.get(&symbol).cloned(),
        _ => None,
    }
}

/// Returns whether a section is a part of the program: what debuggers and unwinders read takes no addresses.
fn is_loaded<'data>(section: &impl ObjectSection<'data>) -> bool {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
        return false;
    };
    sh_flags & u64::from(elf::SHF_ALLOC) != 0 && section.name() != Ok(".eh_frame")
}

/// Returns whether a relocation is the target of a call or a jump, after these bytes of code. Where the machine is not
/// known none is.
fn is_call(machine: Architecture, relocation: &Relocation, before: &[u8]) -> bool {
    let RelocationFlags::Elf { r_type } = relocation.flags() else {
        return false;
    };
    match (machine, before) {
        // call, jmp and the conditional jumps, to the function or through the table of -fno-plt.
        (Architecture::X86_64, [.., 0xe8 | 0xe9] | [.., 0x0f, 0x80..=0x8f]) => {
            matches!(r_type, elf::R_X86_64_PLT32 | elf::R_X86_64_PC32)
        }
        (Architecture::X86_64, [.., 0xff, 0x15 | 0x25]) => matches!(
            r_type,
            elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX
        ),
        (Architecture::Aarch64, _) => {
            matches!(r_type, elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26)
        }
        // brasl and brcl.
        (Architecture::S390x, [.., 0xc0, branch]) => {
            matches!(branch & 0xf, 4 | 5)
                && matches!(r_type, elf::R_390_PLT32DBL | elf::R_390_PC32DBL)
        }
        _ => false,
    }
}

/// Returns whether a relocation of a program is the slot of a function that is called, and nothing else.
fn is_slot(machine: Architecture, relocation: &Relocation) -> bool {
    let slot = match machine {
        Architecture::X86_64 => elf::R_X86_64_JUMP_SLOT,
        Architecture::Aarch64 => elf::R_AARCH64_JUMP_SLOT,
        Architecture::S390x => elf::R_390_JMP_SLOT,
        _ => return false,
    };
    matches!(relocation.flags(), RelocationFlags::Elf { r_type } if r_type == slot)
}

/// Returns whether all sources that the file was compiled from are among those that are read, by the names that
/// compilers note in a file's symbols.
fn is_covered(file: &File<'_>, sources: &[&str]) -> bool {
    let notes = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::File);
    let names: Vec<&str> = notes.filter_map(|symbol| symbol.name().ok()).collect();
    let mut names = names
        .into_iter()
        .filter(|name| !name.is_empty() && !OF_LIBC.contains(name))
        .peekable();
    let is_given = |name: &str| sources.contains(&name.rsplit('/').next().unwrap_or_default());
    names.peek().is_some() && names.all(is_given)
}

/// The C library's beginnings and ends of a program.
const OF_LIBC: [&str; 5] = ["crtstuff.c", "crt1.o", "Scrt1.o", "crti.o", "crtn.o"];
