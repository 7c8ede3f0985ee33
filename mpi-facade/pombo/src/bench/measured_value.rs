//! Parses the output of `bench.c`, line by line. Only `bench` uses it.

use std::fmt;

/// The measurement, the number of ranks, and the message size.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) ranks: u32,
    /// Bytes of a message.
    pub(super) size: u64,
    pub(super) unit: String,
}

/// A median and its quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// One measurement of one library in one round.
#[derive(Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) key: Key,
    pub(super) spread: Spread,
}

impl Key {
    /// Returns whether less is better, as for time and memory; otherwise the figure is a rate.
    pub(super) fn is_cost(&self) -> bool {
        !self.unit.contains('/')
    }

    /// Returns the name without size, such as "message rate" or "latency".
    pub(super) fn title(&self) -> String {
        self.name.replace('-', " ")
    }

    /// Returns the size, such as "8 B" or "64 KiB"; empty for 0, which stands for measurements without size and for a
    /// latency without data.
    pub(super) fn size(&self) -> String {
        match self.size {
            0 if self.name != "latency" => String::new(),
            size if size >= 1 << 20 && size % (1 << 20) == 0 => format!("{} MiB", size >> 20),
            size if size >= 1 << 10 && size % (1 << 10) == 0 => format!("{} KiB", size >> 10),
            size => format!("{size} B"),
        }
    }
}

impl Spread {
    /// Returns median and quartiles of the values.
    pub(super) fn among(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            let place = (values.len() as f64 * part) as usize;
            values.get(place).copied().unwrap_or(f64::NAN)
        };
        Spread {
            median: at(0.5),
            low: at(0.25),
            high: at(0.75),
        }
    }

    /// Returns the spread of a single value.
    pub(super) fn of(value: f64) -> Spread {
        Spread {
            median: value,
            low: value,
            high: value,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (title, size) = (self.title(), self.size());
        f.write_str(format!("{title} {size}").trim_end())
    }
}

impl Figure {
    /// Parses `bench NAME SIZE MEDIAN LOW HIGH UNIT`. Returns `None` for any other line: launchers and libraries print
    /// lines of their own.
    pub(super) fn parse(line: &str, ranks: u32) -> Option<Figure> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let ["bench", name, size, median, low, high, unit] = words[..] else {
            return None;
        };
        let key = Key {
            name: name.to_owned(),
            ranks,
            size: size.parse().ok()?,
            unit: unit.to_owned(),
        };
        let spread = Spread {
            median: positive(median)?,
            low: positive(low)?,
            high: positive(high)?,
        };
        let is_ordered = spread.low <= spread.median && spread.median <= spread.high;
        is_ordered.then_some(Figure { key, spread })
    }
}

fn positive(word: &str) -> Option<f64> {
    let number: f64 = word.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Parses `library TEXT`: the library's name and version, without what follows.
pub(super) fn library(line: &str) -> Option<String> {
    let text = line.strip_prefix("library ")?;
    let text = text.split(',').next().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_program() {
        let figure = Figure::parse("bench bcast 1048576 12.5 11 14.25 us", 8).unwrap();
        assert_eq!(figure.key.name, "bcast");
        assert_eq!((figure.key.ranks, figure.key.size), (8, 1 << 20));
        assert!(figure.key.is_cost());
        let expected = Spread {
            median: 12.5,
            low: 11.0,
            high: 14.25,
        };
        assert_eq!(figure.spread, expected);
    }

    #[test]
    fn anything_else_is_not_ours() {
        for line in [
            "",
            "bench",
            "bench latency 8 1 1 1",
            "bench latency 8 1 1 1 us and more",
            "bench latency -8 1 1 1 us",
            "bench latency 8 nan 1 1 us",
            "bench latency 8 inf 1 inf us",
            "bench latency 8 0 0 0 us",
            "bench latency 8 1 2 3 us",
            "benches latency 8 1 1 1 us",
            "There are not enough slots available",
        ] {
            assert_eq!(Figure::parse(line, 2), None, "{line}");
        }
    }

    #[test]
    fn a_rate_is_no_cost() {
        let figure = Figure::parse("bench bandwidth 1024 3 2 4 MB/s", 2).unwrap();
        assert!(!figure.key.is_cost());
    }

    #[test]
    fn keys_read_well() {
        let words = |line: &str| Figure::parse(line, 2).unwrap().key.to_string();
        assert_eq!(words("bench latency 0 1 1 1 us"), "latency 0 B");
        assert_eq!(words("bench latency 1000 1 1 1 us"), "latency 1000 B");
        assert_eq!(words("bench latency 65536 1 1 1 us"), "latency 64 KiB");
        assert_eq!(words("bench bcast 1048576 1 1 1 us"), "bcast 1 MiB");
        assert_eq!(
            words("bench rate-any-source 8 1 1 1 M/s"),
            "rate any source 8 B"
        );
        assert_eq!(words("bench barrier 0 1 1 1 us"), "barrier");
    }

    #[test]
    fn libraries_are_named_briefly() {
        let brief = |line| library(line).unwrap();
        assert_eq!(
            brief("library MPICH Version:\t 4.0.2"),
            "MPICH Version: 4.0.2"
        );
        assert_eq!(
            brief("library Open MPI v5.0.11, package: by whom, ident: 5.0.11"),
            "Open MPI v5.0.11"
        );
        assert_eq!(library("no library"), None);
    }
}
