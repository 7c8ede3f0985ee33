//! The simulator against times that are computed by hand, against a spanning tree that is computed from the whole graph,
//! and against what the paper found.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::run::{Plan, Scheme, Times, run};
use crate::sites::{HoldRule, Sites};

/// Reads sites from a text.
fn sites(test: &str, text: &str) -> Sites {
    let directory =
        std::env::temp_dir().join(format!("pombo-simulate-{}-{test}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join("sites.toml");
    fs::write(&path, text).expect("a file");
    Sites::read(&path).expect("good sites")
}

fn example(name: &str) -> Sites {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path: PathBuf = root.join("examples/sites").join(name);
    Sites::read(&path).expect("an example")
}

fn plan(sites: &Sites, root: usize, broadcasts: u64) -> Plan {
    Plan {
        root,
        bytes: 24,
        broadcasts,
        hold: sites.hold(),
        limit: 2_000_000_000,
    }
}

/// Returns how long each broadcast took.
fn broadcasts(sites: &Sites, plan: &Plan, scheme: Scheme) -> Vec<u64> {
    let times = run(sites, plan, scheme).expect("a run");
    let before = [Times::default()];
    let pairs = before.iter().chain(&times).zip(&times);
    pairs
        .map(|(before, after)| after.broadcasting - before.broadcasting)
        .collect()
}

/// One site of four: 0 sends to 2 at 0 and to 1 at 4, and 2 to 3 at 10.
#[test]
fn sends_follow_each_other() {
    let four = sites(
        "hold",
        "hold = 4\n[[site]]\nname = \"a\"\nhosts = 4\nlatency = 10\n",
    );
    let plan = plan(&four, 0, 3);
    assert_eq!(broadcasts(&four, &plan, Scheme::Binomial), [20, 20, 20]);
    assert_eq!(
        broadcasts(
            &four,
            &Plan {
                hold: HoldRule::Time(11),
                ..plan
            },
            Scheme::Binomial
        ),
        [22; 3]
    );
    // 0 is occupied for 50 after its last send.
    assert_eq!(
        broadcasts(
            &four,
            &Plan {
                hold: HoldRule::Time(50),
                ..plan
            },
            Scheme::Binomial
        ),
        [100; 3]
    );
}

/// Two sites: 0 sends to 2 at 0, which arrives at 100, and to 1 at 50. At 8 bits per ns 24 bytes take 24 ns each.
#[test]
fn a_part_of_the_latency_holds_and_bytes_take_time() {
    let text = "hold = \"50 %\"\n[[site]]\nname = \"a\"\nhosts = 2\nlatency = 10\n[[site]]\nname = \"b\"\nhosts = 2\n\
                latency = 20\n[[link]]\nsites = [\"a\", \"b\"]\nlatency = 100\n";
    let two = sites("share", text);
    assert_eq!(broadcasts(&two, &plan(&two, 0, 1), Scheme::TwoLevel), [120]);
    let rated = sites(
        "rate",
        &text.replace("latency = 100", "latency = 100\nrate = \"8gbit\""),
    );
    assert_eq!(
        broadcasts(&rated, &plan(&rated, 0, 1), Scheme::TwoLevel),
        [144]
    );
    let slow = text.replace("latency = 10\n", "latency = 110\n");
    let slow = sites("slow", &slow);
    assert_eq!(
        broadcasts(&slow, &plan(&slow, 0, 1), Scheme::TwoLevel),
        [50 + 110]
    );
}

/// A change before a broadcast counts from there on, one at a time from what is sent then.
#[test]
fn changes() {
    let text = "[[site]]\nname = \"a\"\nhosts = 2\nlatency = 10\n[[event]]\nbroadcast = 3\nhosts = [0, 1]\nlatency = 30\n\
                [[event]]\nat = 41\nsite = \"a\"\nlatency = 7\n";
    let two = sites("changes", text);
    // The third begins at 20 and ends at 50; the first after 41 begins then.
    assert_eq!(
        broadcasts(&two, &plan(&two, 0, 4), Scheme::Binomial),
        [10, 10, 30, 7]
    );
}

/// Two processes: a probe and its answer, then the tree, then broadcasts; every check is a probe and a wave more.
#[test]
fn two_processes_build_and_check() {
    let two = sites("two", "[[site]]\nname = \"a\"\nhosts = 2\nlatency = 10\n");
    let plan = plan(&two, 1, 2);
    let still = run(&two, &plan, Scheme::SpanningTree).expect("a run");
    assert_eq!(
        (still[1].measuring, still[1].checking, still[1].broadcasting),
        (20, 0, 20)
    );
    assert!(
        still[1].building > 0 && still[1].building.is_multiple_of(10),
        "{still:?}"
    );
    let every = |every| {
        run(
            &two,
            &plan,
            Scheme::Adaptive {
                every,
                threshold: 0,
            },
        )
        .expect("a run")
    };
    let (each, second) = (every(1), every(2));
    assert_eq!(each[1].checking, 2 * each[0].checking);
    assert_eq!(second[1].checking, each[0].checking);
    assert!(each[0].checking >= 20 + 20, "{each:?}");
    assert_eq!(
        (each[1].building, each[1].broadcasting),
        (still[1].building, 20)
    );
    let one = sites("one", "[[site]]\nname = \"a\"\nhosts = 1\n");
    assert_eq!(
        run(&one, &super::tests::plan(&one, 0, 1), Scheme::SpanningTree).expect("a run"),
        [Times::default()]
    );
}

/// Returns the time of a broadcast along the minimum spanning tree of these latencies, by Kruskal's algorithm. Sends go
/// over the heaviest links first.
fn along_the_spanning_tree(latency: &[Vec<u64>], root: usize, hold: HoldRule) -> u64 {
    let processes = latency.len();
    let pairs = (0..processes).flat_map(|a| (a + 1..processes).map(move |b| (a, b)));
    let mut edges: Vec<_> = pairs.map(|(a, b)| (latency[a][b], a, b)).collect();
    edges.sort_unstable();
    let mut part: Vec<usize> = (0..processes).collect();
    let mut neighbours = vec![Vec::new(); processes];
    for (weight, a, b) in edges {
        let (one, other) = (part[a], part[b]);
        if one != other {
            part.iter_mut()
                .filter(|part| **part == one)
                .for_each(|part| *part = other);
            neighbours[a].push((weight, b));
            neighbours[b].push((weight, a));
        }
    }
    let (mut end, mut left) = (0, vec![(root, root, 0)]);
    while let Some((process, parent, mut time)) = left.pop() {
        neighbours[process].sort_unstable();
        for &(weight, child) in neighbours[process]
            .iter()
            .rev()
            .filter(|(_, child)| *child != parent)
        {
            left.push((child, process, time + weight));
            time += hold.of(
                &crate::sites::Link {
                    latency: weight,
                    rate: None,
                },
                0,
            );
        }
        end = end.max(time);
    }
    end
}

fn latencies(sites: &Sites, changed: bool) -> Vec<Vec<u64>> {
    let hosts = sites.hosts();
    let row = |a| {
        (0..hosts)
            .map(|b| sites.link(a, b).latency)
            .collect::<Vec<_>>()
    };
    let mut latency: Vec<_> = (0..hosts).map(row).collect();
    for event in sites.events().iter().filter(|_| changed) {
        for &(a, b) in &event.pairs {
            let to = event.change.latency.unwrap_or(latency[a][b]);
            (latency[a][b], latency[b][a]) = (to, to);
        }
    }
    latency
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// What the processes find by messages is the spanning tree of the whole graph, before and after any changes.
    #[test]
    fn trees_are_minimal(
        (hosts, given) in (1_usize..9).prop_flat_map(|hosts| (Just(hosts), proptest::collection::vec(1_u64..60, hosts * hosts))),
        changed in proptest::collection::vec((0_usize..8, 0_usize..8, 1_u64..60), 0..6),
        share in 0_u64..100, root in 0_usize..8,
    ) {
        let mut text = format!("hold = \"{share} %\"\n[[site]]\nname = \"a\"\nhosts = {hosts}\n");
        for (a, b) in (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b))) {
            text += &format!("[[pair]]\nhosts = [{a}, {b}]\nlatency = \"{} us\"\n", given[a * hosts + b]);
        }
        for (a, b, latency) in changed.iter().map(|(a, b, latency)| (a % hosts, b % hosts, latency)).filter(|(a, b, _)| a != b) {
            text += &format!("[[event]]\nbroadcast = 2\nhosts = [{a}, {b}]\nlatency = \"{latency} us\"\n");
        }
        let sites = sites("minimal", &text);
        let (root, hold) = (root % hosts, sites.hold());
        let plan = plan(&sites, root, 12);
        let adaptive = broadcasts(&sites, &plan, Scheme::Adaptive { every: 1, threshold: 0 });
        let before = along_the_spanning_tree(&latencies(&sites, false), root, hold);
        let after = along_the_spanning_tree(&latencies(&sites, true), root, hold);
        prop_assert_eq!((adaptive[0], adaptive[11]), (before, after), "{}", text);
        // The same again, to the nanosecond.
        prop_assert_eq!(adaptive, broadcasts(&sites, &plan, Scheme::Adaptive { every: 1, threshold: 0 }));
    }
}

/// On the paper's six sites the spanning tree is faster than two levels, and these faster than the binomial tree.
#[test]
fn the_order_of_the_paper() {
    let sites = example("paper.toml");
    let plan = plan(&sites, 12, 1);
    let one = |scheme| broadcasts(&sites, &plan, scheme)[0];
    let (binomial, two_level, tree) = (
        one(Scheme::Binomial),
        one(Scheme::TwoLevel),
        one(Scheme::SpanningTree),
    );
    assert!(
        tree < two_level && two_level < binomial,
        "{tree} {two_level} {binomial}"
    );
}

/// From both starts, once the tree is built, adapting wins in the paper's figures 5 and 6 over every tree that stays;
/// looking for changes every fourth time costs less.
#[test]
fn adapting_wins_where_links_change() {
    for name in ["figure-5.toml", "figure-5-before.toml"] {
        let sites = example(name);
        let plan = plan(&sites, 12, 16);
        let built = |scheme| {
            let times = run(&sites, &plan, scheme).expect("a run")[15];
            times.checking + times.broadcasting
        };
        let fixed = [Scheme::Binomial, Scheme::TwoLevel, Scheme::SpanningTree].map(built);
        for threshold in [10, 70] {
            let [each, fourth] = [1, 4].map(|every| built(Scheme::Adaptive { every, threshold }));
            assert!(
                fixed.iter().all(|fixed| each < *fixed),
                "{name}: {each} {fixed:?}"
            );
            assert!(fourth < each, "{name}: {fourth} {each}");
        }
    }
}
