//! The library that serves a composition: the Cargo features of `pombo-mpi-abi` that switch its parts on, and the name
//! under which a prefix has it. `print` and `mod.rs` call it.

use super::decision::{Composition, Level};
use crate::small_library::{ABI, BASIC, Package, cargo_words};

/// The one list of the features.
const MANIFEST: &str = include_str!("../../../abi/Cargo.toml");

/// Returns the package of the library.
pub(super) fn package(composition: &Composition) -> &'static Package {
    match composition.basic.value {
        true => &BASIC,
        false => &ABI,
    }
}

/// Returns the features that the composition needs. A part that is no feature of the package is always in it.
pub(super) fn of(composition: &Composition) -> Vec<&'static str> {
    if composition.basic.value {
        return Vec::new();
    }
    let datatypes = match composition.datatypes.value {
        Level::None => "",
        Level::Basic => "datatypes-basic",
        Level::Contiguous => "datatypes-contiguous",
        Level::Full => "datatypes-full",
    };
    // Values change their form one by one, which a layout tells.
    let layouts =
        composition.datatypes.value >= Level::Contiguous || composition.heterogeneous.value;
    let wanted = [
        (true, datatypes),
        (layouts, "layouts"),
        (composition.rendezvous.value, "rendezvous"),
        (composition.buffering.value, "buffering"),
        (composition.any_source.value, "any-source"),
        (composition.any_tag.value, "any-tag"),
        (composition.adaptive_matcher.value, "fast-paths"),
        (composition.collectives.value, "collectives"),
        (composition.hosts.value, "hosts"),
        // They carry its code anyway.
        (
            composition.hosts.value && composition.collectives.value,
            "groups-at-start",
        ),
        (composition.heterogeneous.value, "heterogeneous"),
        (composition.diagnostics.value, "diagnostics"),
    ];
    let wanted = wanted
        .into_iter()
        .filter(|(is_on, name)| *is_on && is_feature(name));
    wanted.map(|(_, name)| name).collect()
}

/// Returns the directory's name below `lib/pombo`.
pub(super) fn name(composition: &Composition) -> String {
    match &*of(composition) {
        _ if composition.basic.value => "basic".to_owned(),
        [] => "base".to_owned(),
        features => features.join("+"),
    }
}

/// Returns the command that builds the library, in the directory of Pombo's sources.
pub(super) fn command(composition: &Composition) -> String {
    let target = format!("target/pombo/{}", name(composition));
    let features = of(composition).join(",");
    let words = cargo_words(package(composition), &features, &target);
    format!("cargo {}", words.join(" "))
}

fn is_feature(name: &str) -> bool {
    let manifest: toml::Table = toml::from_str(MANIFEST).unwrap_or_default();
    manifest
        .get("features")
        .and_then(|features| features.get(name))
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::super::decision::{Told, decide};
    use super::super::facts::{Facts, Kind, Place};
    use super::*;

    /// What a program of these calls needs whose longest message has so many bytes.
    fn composition(calls: &[&str], longest: Option<u64>) -> Composition {
        let mut facts = Facts::default();
        for call in calls {
            facts.add(Kind::Call, *call, Place::of("a.c"));
        }
        facts.add(Kind::Constant, "MPI_BYTE", Place::of("a.c"));
        let told = Told {
            longest,
            ..Told::default()
        };
        decide(&facts, &told, 8192)
    }

    #[test]
    fn names_and_commands() {
        let base = composition(&["MPI_Recv"], None);
        assert_eq!(name(&base), "base");
        assert!(command(&base).contains("-p pombo-mpi-abi --lib"));
        assert!(command(&base).contains("--no-default-features --target-dir target/pombo/base "));
        let whole = composition(&["MPI_Send", "MPI_Irecv"], None);
        assert_eq!(name(&whole), "rendezvous+fast-paths");
        assert!(command(&whole).contains(
            "--features rendezvous,fast-paths --target-dir target/pombo/rendezvous+fast-paths "
        ));
        let basic = composition(&["MPI_Send", "MPI_Irecv"], Some(8192));
        assert_eq!(name(&basic), "basic");
        assert!(command(&basic).contains("-p pombo-basic-abi --lib"));
        assert!(is_feature("hosts") && !is_feature("no-such"));
    }
}
