//! `pombo bench`: every measurement gives a figure for this library. How good they are no test decides.

use crate::support::{directory, finish, pombo};

#[test]
fn every_measurement_has_a_figure() {
    let place = directory("bench");
    let json = place.join("figures.json");
    let mut command = pombo(["bench", "--quick", "-n", "2", "--directory"]);
    let outcome = finish(command.arg(&place).arg("--json").arg(&json));
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    for name in [
        "latency",
        "bandwidth",
        "rate",
        "barrier",
        "allreduce",
        "bcast",
        "init",
    ] {
        assert!(outcome.out.contains(name), "{name}: {}", outcome.out);
    }
    assert!(outcome.out.contains("pombo"), "{}", outcome.out);
    let figures = std::fs::read_to_string(json).unwrap();
    assert!(figures.contains("pombo"), "{figures}");
}
