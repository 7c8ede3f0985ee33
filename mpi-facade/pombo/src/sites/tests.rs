//! The parser on good and on bad files.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{Change, Event, HoldRule, Link, Sites, When};

const TWO: &str = r#"
hold = "25 %"

[[site]]
name = "near"
hosts = 2
latency = "1.5us"
rate = "2 gbit"

[[site]]
name = "far"
hosts = 1

[[link]]
sites = ["far", "near"]
latency = "120 ms"
rate = 9600
"#;

/// Writes a file of this name for one test.
fn file(test: &str, name: &str, text: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("pombo-sites-{}-{test}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join(name);
    fs::write(&path, text).expect("a file");
    path
}

fn refused(test: &str, text: &str) -> String {
    let error = Sites::read(&file(test, "bad.toml", text)).expect_err(text);
    error.to_string()
}

#[test]
fn sites_links_pairs_and_events() {
    let text = format!(
        "{TWO}\n[[pair]]\nhosts = [2, 0]\nlatency = \"2s\"\n\n[[event]]\nbroadcast = 4\nhosts = [1, 0]\nlatency = 7\n\n\
         [[event]]\nat = \"2 ms\"\nsites = [\"near\", \"far\"]\nrate = \"1mbit\"\n\n[[event]]\nat = 0\nsite = \"near\"\nlatency = 0\n"
    );
    let sites = Sites::read(&file("good", "good.toml", &text)).expect("a good file");
    assert_eq!(sites.names(), ["near", "far"]);
    assert_eq!(sites.site_of(), [0, 0, 1]);
    assert_eq!(sites.hold(), HoldRule::Share(250_000));
    let inner = Link {
        latency: 1_500,
        rate: Some(2_000_000_000),
    };
    let outer = Link {
        latency: 120_000_000,
        rate: Some(9600),
    };
    let overridden = Link {
        latency: 2_000_000_000,
        ..outer
    };
    let links: Vec<Link> = (0..9).map(|at| sites.link(at / 3, at % 3)).collect();
    let own = Link::default();
    assert_eq!(
        links,
        [
            own, inner, overridden, inner, own, outer, overridden, outer, own
        ]
    );
    let latency = |latency| Change {
        latency: Some(latency),
        rate: None,
    };
    let rate = Change {
        latency: None,
        rate: Some(1_000_000),
    };
    let event = |when, pairs: &[(usize, usize)], change| Event {
        when,
        pairs: pairs.to_vec(),
        change,
    };
    let expected = [
        event(When::Broadcast(4), &[(0, 1)], latency(7)),
        event(When::Time(2_000_000), &[(0, 2), (1, 2)], rate),
        event(When::Time(0), &[(0, 1)], latency(0)),
    ];
    assert_eq!(sites.events(), expected);
}

#[test]
fn a_file_extends_another() {
    let base = file(
        "extends",
        "base.toml",
        &format!("{TWO}[[pair]]\nhosts = [0, 2]\nlatency = 5\nrate = 5\n"),
    );
    let name = base.file_name().expect("a name").display();
    let more = format!("extends = \"{name}\"\nhold = 3\n[[pair]]\nhosts = [0, 2]\nlatency = 6\n");
    let sites = Sites::read(&file("extends", "more.toml", &more)).expect("a good file");
    assert_eq!(sites.hold(), HoldRule::Time(3));
    assert_eq!(
        sites.link(0, 2),
        Link {
            latency: 6,
            rate: Some(5)
        }
    );
    let own = file("extends", "own.toml", "extends = \"own.toml\"\n");
    let error = Sites::read(&own).expect_err("a circle").to_string();
    assert!(error.contains("own.toml, line 1: extends"), "{error}");
}

/// What a send costs its sender and the link.
#[test]
fn times_of_a_send() {
    let link = Link {
        latency: 1_000_001,
        rate: Some(8_000_000),
    };
    assert_eq!(link.transmission(24), 24_000);
    assert_eq!(HoldRule::Time(5).of(&link, 24), 24_005);
    assert_eq!(HoldRule::Share(500_000).of(&link, 0), 500_000);
    assert_eq!(Link::default().transmission(usize::MAX), 0);
    let slow = Link {
        latency: u64::MAX,
        rate: Some(1),
    };
    assert_eq!(HoldRule::Share(10_000_000).of(&slow, usize::MAX), u64::MAX);
}

/// The message names the file, the line, the key, and what to do.
#[test]
fn bad_files() {
    let with = |more: &str| format!("{TWO}{more}\n");
    for (text, words) in [
        (String::new(), &["no site", "[[site]]"][..]),
        ("[[site]]\nname = \"a\"\n".into(), &["line 1", "hosts"]),
        (
            "[[site]]\nname = \"a\"\nhosts = 0\n".into(),
            &["line 1", "hosts is 0", "1 to 1024"],
        ),
        (
            "[[site]]\nname = \"a\"\nhosts = 1025\n".into(),
            &["hosts is 1025"],
        ),
        (
            "[[site]]\nname = \"a\"\nhosts = 1\nlatncy = 3\n".into(),
            &["line 4", "latncy", "latency"],
        ),
        ("[[site]\n".into(), &["line 1"]),
        ("hold = \"fast\"\n".into(), &["line 1", "fast", "17 %"]),
        ("hold = \"1001 %\"\n".into(), &["1001 %"]),
        (
            with("[[site]]\nname = \"near\"\nhosts = 1"),
            &["line 18", "'near'", "twice"],
        ),
        (
            with("[[site]]\nname = \"third\"\nhosts = 1"),
            &["'near' and 'third'", "[[link]]"],
        ),
        (
            with("[[link]]\nsites = [\"near\", \"far\"]\nlatency = 1"),
            &["line 18", "twice"],
        ),
        (
            with("[[link]]\nsites = [\"near\", \"near\"]\nlatency = 1"),
            &["line 18", "both sites are 'near'"],
        ),
        (
            with("[[link]]\nsites = [\"near\", \"moon\"]\nlatency = 1"),
            &["line 18", "'moon'", "near, far"],
        ),
        (
            with("[[link]]\nsites = [\"near\"]\nlatency = 1"),
            &["line 19"],
        ),
        (
            with("[[pair]]\nhosts = [0, 3]\nlatency = 1"),
            &["line 18", "[0, 3]", "below 3"],
        ),
        (with("[[pair]]\nhosts = [1, 1]\nlatency = 1"), &["[1, 1]"]),
        (
            with("[[pair]]\nhosts = [0, 1]"),
            &["pair", "latency, rate or both"],
        ),
        (
            with("[[pair]]\nhosts = [0, 1]\nlatency = -1"),
            &["line 20", "-1", "120 ms"],
        ),
        (
            with("[[pair]]\nhosts = [0, 1]\nlatency = \"2 days\""),
            &["line 20", "2 days"],
        ),
        (
            with("[[pair]]\nhosts = [0, 1]\nlatency = \"86401 s\""),
            &["86401 s", "up to a day"],
        ),
        (
            with("[[pair]]\nhosts = [0, 1]\nlatency = \"nan s\""),
            &["nan s"],
        ),
        (
            with("[[pair]]\nhosts = [0, 1]\nrate = 0"),
            &["line 20", "rate above 0"],
        ),
        (
            with("[[pair]]\nhosts = [0, 1]\nrate = \"1 Gbit/s\""),
            &["1 Gbit/s", "100mbit"],
        ),
        (
            with("[[event]]\nhosts = [0, 1]\nlatency = 1"),
            &["event", "broadcast", "at"],
        ),
        (
            with("[[event]]\nbroadcast = 1\nat = 1\nhosts = [0, 1]\nlatency = 1"),
            &["either broadcast"],
        ),
        (
            with("[[event]]\nbroadcast = 0\nhosts = [0, 1]\nlatency = 1"),
            &["broadcast is 0"],
        ),
        (
            with("[[event]]\nbroadcast = 1\nlatency = 1"),
            &["one of hosts"],
        ),
        (
            with("[[event]]\nbroadcast = 1\nsite = \"near\"\nhosts = [0, 1]\nlatency = 1"),
            &["one of hosts"],
        ),
        (
            with("[[event]]\nbroadcast = 1\nsite = \"moon\"\nlatency = 1"),
            &["event", "'moon'"],
        ),
        (
            with("[[event]]\nbroadcast = 1\nsite = \"near\""),
            &["latency, rate or both"],
        ),
        (
            "extends = \"nowhere.toml\"\n".into(),
            &["cannot read", "nowhere.toml"],
        ),
    ] {
        let error = refused("bad", &text);
        assert_eq!(error.lines().count(), 1, "{text}: {error}");
        for word in words {
            assert!(error.contains(word), "{text} lacks {word}: {error}");
        }
    }
    assert!(Sites::read(Path::new("/nowhere/a.toml")).is_err());
}

proptest! {
    /// Any text is a file of sites or a named error.
    #[test]
    fn any_text(head in "[\\[\\]a-z =\"\n0-9,%.-]{0,200}", whole in any::<bool>()) {
        let text = if whole { format!("{TWO}{head}") } else { head };
        let path = file("any", "any.toml", &text);
        if let Ok(sites) = Sites::read(&path) {
            prop_assert!(sites.hosts() > 0);
        }
    }
}
