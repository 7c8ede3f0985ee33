//! The library that serves a composition: the Cargo features of `pombo-mpi-abi` that switch its parts on, and the name
//! under which a prefix has it. `print` and `mod.rs` call it.

use super::decision::{Composition, Level};
use crate::small_library::cargo_words;

/// The one list of the features.
const MANIFEST: &str = include_str!("../../../abi/Cargo.toml");

/// Returns the features that the composition needs. A part that is no feature of the package is always in it.
pub(super) fn of(composition: &Composition) -> Vec<&'static str> {
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
        (composition.heterogeneous.value, "heterogeneous"),
        (composition.diagnostics.value, "diagnostics"),
    ];
    let wanted = wanted
        .into_iter()
        .filter(|(is_on, name)| *is_on && is_feature(name));
    wanted.map(|(_, name)| name).collect()
}

/// Returns the directory's name below `lib/pombo`.
pub(super) fn name(features: &[&str]) -> String {
    if features.is_empty() {
        return "base".to_owned();
    }
    features.join("+")
}

/// Returns the command that builds the library, in the directory of Pombo's sources.
pub(super) fn command(features: &[&str]) -> String {
    let target = format!("target/pombo/{}", name(features));
    format!(
        "cargo {}",
        cargo_words(&features.join(","), &target).join(" ")
    )
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
    use super::*;

    #[test]
    fn names_and_commands() {
        assert_eq!(name(&[]), "base");
        assert_eq!(name(&["collectives", "hosts"]), "collectives+hosts");
        assert!(command(&[]).contains("--no-default-features --target-dir target/pombo/base "));
        assert!(command(&["a", "b"]).contains("--features a,b --target-dir target/pombo/a+b "));
        assert!(is_feature("hosts") && !is_feature("no-such"));
    }
}
