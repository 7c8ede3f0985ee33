//! `pombo mailbox --table`: what the buffers of a mailbox take, by the limit of its size classes. `cli` calls it.

use std::fmt::Write;

use pombo_kernel::mailbox::{LAST_CLASS, SizeClasses};

use crate::console::tell;
use crate::error::Error;

/// What `pombo mailbox` was asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Print what the buffers of a mailbox take, for each limit of its size classes
    #[arg(long, required = true)]
    table: bool,
    /// Number of buffers of each size class
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=16))]
    buffers: u8,
}

/// The smallest limit of the published table, the first that it does not compute by its formula, and that row in
/// hundredths of 1024 bytes.
const FIRST: u8 = 10;
const DOUBLED_FROM: u8 = 16;
const PUBLISHED_AT_16: u64 = 127_782;

/// Prints the table.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    tell(&table(options.buffers));
    Ok(0)
}

fn table(buffers: u8) -> String {
    let mut text = String::from(" limit  longest message [bytes]  all buffers [KiB]\n");
    for limit in FIRST..=LAST_CLASS {
        let classes = SizeClasses::new(limit, buffers.into());
        let hundredths = classes.memory() as u64 * 100 / 1024;
        let _ = write!(
            text,
            "{limit:6} {:24} {:>18}",
            classes.longest(),
            in_kib(hundredths)
        );
        if limit >= DOUBLED_FROM && buffers == 10 {
            let published = PUBLISHED_AT_16 << (limit - DOUBLED_FROM);
            let _ = write!(text, "   the paper: {}", in_kib(published));
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "Sum over the classes c = 3 to the limit of {buffers} x (2^c - 8) bytes, cut off after two decimals. The memory is provided when it is needed."
    );
    if buffers == 10 {
        text.push_str(
            "From 16 on the paper doubles the row above instead; up to 15 its rows are these.\n",
        );
    }
    text
}

fn in_kib(hundredths: u64) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_up_to_15_are_those_of_the_paper() {
        let text = table(10);
        let published = ["19.29", "39.21", "79.14", "159.06", "318.98", "638.90"];
        for (limit, kib) in (10..).zip(published) {
            let start = format!("{limit:6} ");
            let row = text.lines().find(|line| line.starts_with(&start));
            let last = row.and_then(|row| row.split_whitespace().last());
            assert_eq!(last, Some(kib), "{text}");
        }
        for row in [
            "1278.82   the paper: 1277.82",
            "2558.75   the paper: 2555.64",
        ] {
            assert!(text.contains(row), "{text}");
        }
    }
}
