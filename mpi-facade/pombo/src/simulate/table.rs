//! The table of `pombo simulate`.

use std::fmt::Write;

use super::run::Series;

/// Returns the heading and one line for each number of broadcasts and tree.
pub(super) fn text(heading: &str, series: &[Series], broadcasts: &[u64]) -> String {
    let mut text = format!(
        "{heading}; times in s\n{:>10}  {:<26} {:>9} {:>9} {:>9} {:>10} {:>9} {:>10}\n",
        "broadcasts", "tree", "measuring", "building", "checking", "broadcasts", "total", "one"
    );
    for &number in broadcasts {
        for Series { name, times } in series {
            let Some(times) = times.get(number as usize - 1) else {
                continue;
            };
            let _ = writeln!(
                text,
                "{number:>10}  {name:<26} {:>9} {:>9} {:>9} {:>10} {:>9} {:>10}",
                seconds(times.measuring),
                seconds(times.building),
                seconds(times.checking),
                seconds(times.broadcasting),
                seconds(times.total()),
                seconds(times.broadcasting / number)
            );
        }
    }
    text
}

/// Returns ns as seconds, rounded to tenths of a millisecond.
pub(super) fn seconds(ns: u64) -> String {
    let tenths = ns.saturating_add(50_000) / 100_000;
    format!("{}.{:04}", tenths / 10_000, tenths % 10_000)
}
