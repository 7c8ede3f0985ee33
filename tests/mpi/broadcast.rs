//! `MPI_Bcast` over the network's own broadcast: every root, parts and copies of the world, many at once, all sizes.

use crate::network::on_two_hosts;
use crate::programs::ok;

const UDP: (&str, &str) = ("POMBO_NET", "udp");
const CAST: (&str, &str) = ("POMBO_COLL_BCAST", "cast");

#[test]
fn every_rank_a_host() {
    ok(2, "bcast", &[], &[UDP]);
    ok(5, "bcast", &["200000", "1"], &[UDP, CAST]);
}

#[test]
fn frames_get_lost() {
    ok(4, "bcast", &["8388608", "1"], &[UDP, ("POMBO_LOSS", "2")]);
    ok(3, "bcast", &["300000", "1"], &[UDP, ("POMBO_LOSS", "20:3")]);
}

#[test]
fn several_ranks_on_a_host() {
    for algorithm in ["cast", "binomial"] {
        let variables = [("POMBO_COLL_BCAST", algorithm), ("POMBO_LOSS", "1")];
        let outcome = on_two_hosts("bcast", &variables);
        let expected = (0, "ok bcast\n".to_owned());
        assert_eq!((outcome.code, outcome.out), expected, "{}", outcome.err);
    }
}

/// Where there is no network between hosts the name chooses nothing.
#[test]
fn one_host_needs_none() {
    ok(4, "bcast", &["100000", "1"], &[]);
    ok(3, "bcast", &["100000", "1"], &[CAST]);
}
