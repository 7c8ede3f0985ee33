//! Prints the figures between hosts to the terminal: a line for each library. Only `multihost` uses it.

use super::super::library::Library;
use super::super::measured_value::Spread;
use super::super::network_namespaces::{BURST, MTU, QUEUE};
use super::super::results::{Results, Row};
use super::super::state::State;
use super::super::table::{ABSENT, aligned, cell};
use super::link_ceiling::Link;
use super::plan::{BANDWIDTHS, CASTS, SHORTEST};

/// Largest plausible multiple of the link's rate over a few messages: the token bucket is full at first.
const FREE: f64 = 1.1;

/// The least time of ECCLib's broadcast on the hosts of 2003.
const PUBLISHED: &str = "ECCLib 2003, as published: 800 to 1800 us for a broadcast that carries nothing; \
                         LAM/MPI beside it 40 to 100 us.\n";

/// Returns both tables and their legends.
pub(super) fn text(results: &Results, link: &Link, libraries: &[Library]) -> String {
    let mut text = String::new();
    let ranks = ranks(results);
    let casts = casts(results, link, libraries, &ranks);
    if casts.len() > 1 {
        text += &format!(
            "Broadcast over {} Mbit/s, MB/s at each receiver and per cent of what the line carries of payload\n{}",
            link.rate.megabits,
            aligned(&casts)
        );
        text += &format!(
            "Every port, hosts' and bridge's: a bucket of {} KiB, a queue of {} KiB. TCP: {}.\n",
            BURST >> 10,
            QUEUE >> 10,
            link.tcp
        );
        text += &ceilings(link, libraries);
        text += &above_ceiling(results, link, libraries);
    }
    let fast = fast(results, &ranks);
    if fast.len() > 1 {
        text += &format!("\nCables without a limit\n{}", aligned(&fast));
        text += PUBLISHED;
    }
    text.push('\n');
    for library in &results.libraries {
        text += &format!("{}: {}\n", library.name, library.version);
    }
    text + "Medians over rounds; +- is half the distance between the quartiles.\n"
}

/// Returns the numbers of ranks that have figures.
fn ranks(results: &Results) -> Vec<u32> {
    let mut ranks: Vec<u32> = results.rows.iter().map(|row| row.key.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

fn spread(results: &Results, who: usize, name: &str, ranks: u32, size: u64) -> Option<Spread> {
    let mut rows = results.rows.iter();
    let row =
        rows.find(|row| (&*row.key.name, row.key.ranks, row.key.size) == (name, ranks, size))?;
    row.spread(who, State::Shared)
}

fn casts(results: &Results, link: &Link, libraries: &[Library], ranks: &[u32]) -> Vec<Vec<String>> {
    let columns = ranks
        .iter()
        .flat_map(|&ranks| CASTS.map(|size| (ranks, size)));
    let has = |&(ranks, size): &(u32, u64)| {
        (0..libraries.len()).any(|who| spread(results, who, "cast", ranks, size).is_some())
    };
    let columns: Vec<(u32, u64)> = columns.filter(has).collect();
    if columns.is_empty() {
        return Vec::new();
    }
    let title = |&(ranks, size): &(u32, u64)| {
        let size = if size >> 20 > 0 {
            format!("{} MiB", size >> 20)
        } else {
            format!("{} KiB", size >> 10)
        };
        format!("{}: {size}", ranks - 1)
    };
    let heading = std::iter::once("receivers: each".to_owned());
    let mut lines = vec![heading.chain(columns.iter().map(title)).collect()];
    for (who, library) in libraries.iter().enumerate() {
        let cell = |&(ranks, size): &(u32, u64)| {
            let rate = spread(results, who, "cast", ranks, size).map(|rate| rate.median);
            rate.map_or(ABSENT.to_owned(), |rate| {
                format!("{rate:5.2} {:5.1}%", 100.0 * rate / link.ceiling(library))
            })
        };
        let name = std::iter::once(library.name.clone());
        lines.push(name.chain(columns.iter().map(cell)).collect());
    }
    lines
}

fn ceilings(link: &Link, libraries: &[Library]) -> String {
    let mut told: Vec<String> = Vec::new();
    for library in libraries {
        let words = format!("{} {:.2}", library.carrier(), link.ceiling(library));
        if !told.contains(&words) {
            told.push(words);
        }
    }
    format!(
        "100 % are, in MB/s at an MTU of {MTU}: {}.\n",
        told.join(", ")
    )
}

/// Warns of libraries that were faster than the link, and so did not use it.
fn above_ceiling(results: &Results, link: &Link, libraries: &[Library]) -> String {
    let whole = |row: &&Row| row.key.name == "cast";
    let is_beyond = |who: usize| {
        let mut rates = results.rows.iter().filter(whole);
        rates.any(|row| {
            row.spread(who, State::Shared)
                .is_some_and(|rate| rate.median > FREE * link.rate.bytes())
        })
    };
    let above_ceiling = libraries
        .iter()
        .enumerate()
        .filter(|(who, _)| is_beyond(*who));
    let told = above_ceiling.map(|(_, one)| {
        format!(
            "{} was faster than the line: its ranks are not where they should be.\n",
            one.name
        )
    });
    told.collect()
}

fn fast(results: &Results, ranks: &[u32]) -> Vec<Vec<String>> {
    let mut columns: Vec<(String, &str, u32, u64)> = Vec::new();
    columns.push(("half round trip 8 B, us".into(), "latency", 2, 8));
    for (mtu, name) in BANDWIDTHS {
        columns.push((format!("1 MiB at MTU {mtu}, MB/s"), name, 2, 1 << 20));
    }
    for &ranks in ranks {
        let title = format!("{SHORTEST} B to {}, us", ranks - 1);
        columns.push((title, "cast-time", ranks, SHORTEST));
    }
    let of = |who, (_, name, ranks, size): &(String, &str, u32, u64)| {
        spread(results, who, name, *ranks, *size)
    };
    let count = results.libraries.len();
    columns.retain(|column| (0..count).any(|who| of(who, column).is_some()));
    if columns.is_empty() {
        return Vec::new();
    }
    let heading = std::iter::once(String::new());
    let mut lines = vec![
        heading
            .chain(columns.iter().map(|column| column.0.clone()))
            .collect(),
    ];
    for (who, library) in results.libraries.iter().enumerate() {
        let cells = columns
            .iter()
            .map(|column| of(who, column).map_or(ABSENT.into(), cell));
        lines.push(std::iter::once(library.name.clone()).chain(cells).collect());
    }
    lines
}
