//! What a source in C or C++ uses of MPI: the names in what the preprocessor makes of it, where macros of the program
//! are expanded, parts that are not compiled are gone, and the constants of MPI are still names. `mod.rs` calls it.

use std::path::Path;

use super::facts::{Facts, Kind};
use super::tokens::{Token, tokens};
use crate::mpi_names::{self, LOOKUPS};

/// Extensions of sources in C, and in C++.
pub(super) const C: [&str; 1] = ["c"];
pub(super) const CXX: [&str; 6] = ["cc", "cpp", "cxx", "c++", "cp", "C"];

/// Adds what a preprocessed source uses. `header` is the MPI header that was included, whose own lines do not count.
pub(super) fn read(text: &str, header: &Path, facts: &mut Facts) {
    let tokens = tokens(text);
    let header = header.to_string_lossy();
    for (at, token) in tokens.iter().enumerate() {
        if !token.is_name() || *token.place.file == *header {
            continue;
        }
        let is_called = tokens.get(at + 1).is_some_and(|next| next.text == "(");
        let mut add = |kind, name: String| facts.add(kind, name, token.place.clone());
        match token.text {
            name if mpi_names::is_constant(name) => add(Kind::Constant, name.to_owned()),
            "MPI_Datatype" if is_cast(&tokens, at) => {
                add(
                    Kind::Unknown,
                    "a datatype that is made by a cast".to_owned(),
                );
            }
            name if LOOKUPS.contains(&name) && !token.is_system => add(
                Kind::Unknown,
                format!("{name}, which finds functions when the program runs"),
            ),
            name => match mpi_names::function(name) {
                Some(base) if is_called => add(Kind::Call, base.to_owned()),
                Some(base) => add(Kind::Unknown, format!("the address of {base}")),
                None if is_called && mpi_names::is_unknown(name) => {
                    add(
                        Kind::Unknown,
                        format!("{name}, which is no function of MPI 5.0"),
                    );
                }
                None => {}
            },
        }
    }
}

/// Returns whether the type stands in `(MPI_Datatype)x`, and not in `sizeof(MPI_Datatype)` or a list of arguments, or in
/// a cast of C++.
fn is_cast(tokens: &[Token<'_>], at: usize) -> bool {
    let around = |offset: isize| {
        let at = at.checked_add_signed(offset)?;
        tokens.get(at)
    };
    let text = |offset: isize| around(offset).map_or("", |token| token.text);
    match (text(-1), text(1)) {
        ("(", ")") => {
            let is_after_name =
                around(-2).is_some_and(|token| token.is_name() && token.text != "return");
            let next = around(2).is_some_and(|token| {
                token.is_name() || matches!(token.text, "(" | "0" | "-" | "&" | "*")
            });
            !is_after_name && next
        }
        ("<", ">") => text(-2).ends_with("_cast"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
        let mut facts = Facts::default();
        read(text, Path::new("/p/mpi.h"), &mut facts);
        let of = |kind| facts.of(kind).map(|found| found.name.clone()).collect();
        (of(Kind::Call), of(Kind::Constant), of(Kind::Unknown))
    }

    #[test]
    fn calls_constants_and_addresses() {
        let (calls, constants, unknown) = found(
            "# 1 \"/p/mpi.h\"\nint MPI_Bcast(MPI_INT);\n# 1 \"a.c\"\nPMPI_Send(b, 1, MPI_INT);",
        );
        assert_eq!(calls, ["MPI_Send"]);
        assert_eq!(constants, ["MPI_INT"]);
        assert!(unknown.is_empty());
        let (calls, _, unknown) =
            found("f = MPI_Send; g(&MPI_Recv); MPI_Wait (r); MPI_mine(1); MPI_Comm (*h)(void);");
        assert_eq!(calls, ["MPI_Wait"]);
        assert_eq!(
            unknown,
            [
                "the address of MPI_Send",
                "the address of MPI_Recv",
                "MPI_mine, which is no function of MPI 5.0"
            ]
        );
    }

    #[test]
    fn casts_to_datatypes() {
        for text in [
            "(MPI_Datatype)0x209",
            "= (MPI_Datatype) x",
            "return (MPI_Datatype)(y)",
            "static_cast<MPI_Datatype>(x)",
        ] {
            assert_eq!(found(text).2.len(), 1, "{text}");
        }
        for text in [
            "sizeof(MPI_Datatype)",
            "f(MPI_Datatype);",
            "(MPI_Datatype *)malloc(8)",
            "int (*f)(MPI_Datatype);",
            "vector<MPI_Datatype> v",
        ] {
            assert!(found(text).2.is_empty(), "{text}");
        }
    }

    #[test]
    fn lookups_are_of_the_program() {
        assert!(
            found("# 1 \"dlfcn.h\" 3\nvoid *dlsym(void *);\n")
                .2
                .is_empty()
        );
        assert_eq!(found("dlsym(h, \"f\")").2.len(), 1);
    }
}
