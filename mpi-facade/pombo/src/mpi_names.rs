//! The names of MPI: its functions from the list of exports, its constants from the header. `configure` asks what a name
//! is, `install` writes the headers.

use std::collections::HashSet;
use std::sync::LazyLock;

/// The header that programs are compiled with.
pub(crate) const HEADER: &str = include_str!("../../abi/include/mpi.h");
/// Functions that find others by their names when the program runs.
pub(crate) const LOOKUPS: [&str; 4] = ["dlsym", "dlvsym", "dlopen", "dlmopen"];

/// Constants that say what a program needs, beside datatypes and operations.
const OTHERS: [&str; 4] = [
    "MPI_ANY_SOURCE",
    "MPI_ANY_TAG",
    "MPI_COMM_SELF",
    "MPI_IN_PLACE",
];

static FUNCTIONS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    include_str!("../../abi/exports.txt")
        .split_whitespace()
        .collect()
});

/// The functions of the smallest library.
static BASIC: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    include_str!("../../basic-abi/exports.txt")
        .split_whitespace()
        .collect()
});

static CONSTANTS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| HEADER.lines().filter_map(constant).collect());

/// All words of the header: types, other constants, functions that it defines itself.
static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
    HEADER.split(is_end).collect()
});

/// Returns the name of a function of MPI without the P of PMPI.
pub(crate) fn function(name: &str) -> Option<&str> {
    let base = base(name)?;
    (FUNCTIONS.contains(base) || is_inline(base)).then_some(base)
}

/// Returns whether the smallest library has the function.
pub(crate) fn is_basic(function: &str) -> bool {
    BASIC.contains(function)
}

/// Returns whether a constant is a reduction operation.
pub(crate) fn is_operation(constant: &str) -> bool {
    let line = |line: &&str| {
        line.starts_with(&format!("#define {constant} ")) && line.contains("((MPI_Op)")
    };
    HEADER.lines().any(|each| line(&each))
}

/// Returns whether the name is a datatype, an operation, a wildcard, MPI_COMM_SELF or MPI_IN_PLACE.
pub(crate) fn is_constant(name: &str) -> bool {
    CONSTANTS.contains(name)
}

/// Returns whether the name looks like a function of MPI and is none that this library knows.
pub(crate) fn is_unknown(name: &str) -> bool {
    base(name).is_some_and(|base| function(base).is_none() && !WORDS.contains(base))
}

fn base(name: &str) -> Option<&str> {
    let base = name.strip_prefix('P').unwrap_or(name);
    base.starts_with("MPI_").then_some(base)
}

/// Returns whether the header defines the function itself: some that left the standard, and conversions of handles of
/// Fortran.
fn is_inline(base: &str) -> bool {
    let removed = [
        "MPI_Type_struct",
        "MPI_Type_lb",
        "MPI_Type_ub",
        "MPI_Type_extent",
    ];
    removed.contains(&base) || base.ends_with("_c2f") || base.ends_with("_f2c")
}

/// Returns the constant that a line of the header defines.
fn constant(line: &str) -> Option<&str> {
    let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
    let value = value.trim_start();
    let is_one = ["((MPI_Datatype)", "((MPI_Op)"]
        .iter()
        .any(|of| value.starts_with(of));
    (is_one || OTHERS.contains(&name)).then_some(name)
}

/// Returns the header in which these constants stay names: each is a macro that stands for its own name, so it is
/// defined for `#ifdef` and can still be found in what the preprocessor makes of a program.
pub(crate) fn header_of_names() -> String {
    let line = |line: &'static str| match constant(line) {
        Some(name) => format!("#define {name} {name}\n"),
        None => format!("{line}\n"),
    };
    HEADER.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(function("PMPI_Send"), Some("MPI_Send"));
        assert_eq!(function("MPI_Type_struct"), Some("MPI_Type_struct"));
        assert_eq!(function("MPI_Comm"), None);
        assert!(is_constant("MPI_INT") && is_constant("MPI_ANY_TAG") && is_constant("MPI_UB"));
        assert!(!is_constant("MPI_PROC_NULL") && is_constant("MPI_DATATYPE_NULL"));
        assert!(is_unknown("MPI_Send_all") && is_unknown("PMPI_Own"));
        assert!(!is_unknown("MPI_Comm") && !is_unknown("MPI_Send") && !is_unknown("send"));
    }

    #[test]
    fn constants_stay_names() {
        let header = header_of_names();
        assert!(header.contains("\n#define MPI_INT MPI_INT\n"));
        assert!(header.contains("\n#define MPI_ANY_SOURCE MPI_ANY_SOURCE\n"));
        assert!(!header.contains("((MPI_Datatype)0x209)"));
        assert_eq!(header.lines().count(), HEADER.lines().count());
    }
}
