//! `pombo size`: what the C library takes in a program that carries it. Builds the library for each composition, links a
//! ping-pong in C against it, and prints the bytes of the program by part, and what a queue's slot takes. Fails where a
//! program is above its budget, or carries what its composition leaves out.

mod build;
mod compositions;
mod parts;
mod plot;
mod pullers;

use std::fs;
use std::path::{Path, PathBuf};

use crate::console::{progress, tell};
use crate::error::Error;
use compositions::{COMPOSITIONS, Composition};
use parts::{Measured, PARTS, Sizes};

/// The options of `pombo size`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The compositions: basic, point-to-point, one-host, everything; all of them by default
    #[arg(value_parser = COMPOSITIONS.each_ref().map(|it| it.name))]
    only: Vec<String>,
    /// The directory of Pombo's sources
    #[arg(long, value_name = "DIR", default_value = ".")]
    source: PathBuf,
    /// Directory for libraries and programs
    #[arg(long, value_name = "DIR", default_value = "target/size")]
    directory: PathBuf,
    /// File of budgets: in each line a composition and the most bytes of its program
    #[arg(long, value_name = "FILE")]
    budgets: Option<PathBuf>,
    /// Draw the parts as a bar chart, in SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Builds, measures and checks.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    let is_wanted = |it: &&Composition| {
        options.only.is_empty() || options.only.iter().any(|name| name == it.name)
    };
    fs::create_dir_all(&options.directory)
        .map_err(Error::file("make directory", &options.directory))?;
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for composition in COMPOSITIONS.iter().filter(is_wanted) {
        progress(&format!("builds {}..\n", composition.name));
        let built = build::build(composition, &options.source, &options.directory)?;
        let program = read(&built.with_symbols)?;
        for forbidden in composition.forbids {
            if let Some(chain) = pullers::chain(&program, forbidden) {
                let name = composition.name;
                wrong.push(format!(
                    "{name} carries {}",
                    chain.join("\n    because of ")
                ));
            }
        }
        all.push(Measured {
            name: composition.name,
            sizes: Sizes::of(&program, read(&built.stripped)?.len() as u64),
            slots: parts::slots(&read(&built.archive)?),
        });
    }
    tell(&table(&all));
    if let Some(path) = &options.plot {
        fs::write(path, plot::draw(&all)?).map_err(Error::file("write", path))?;
    }
    if let Some(path) = &options.budgets {
        let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
        wrong.extend(all.iter().filter_map(|it| excess(&text, it)));
    }
    match wrong.is_empty() {
        true => Ok(0),
        false => Err(Error::Size { why: wrong }),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::file("read", path))
}

/// Returns what is wrong with a size by the text of budgets.
fn excess(budgets: &str, measured: &Measured) -> Option<String> {
    let lines = budgets.lines().filter(|line| !line.starts_with('#'));
    let mut lines = lines.filter_map(|line| line.split_once(' '));
    let (name, now) = (measured.name, measured.sizes.file);
    let Some((_, budget)) = lines.find(|(of, _)| *of == name) else {
        return Some(format!("{name}: {now} bytes, and no line of budgets"));
    };
    match budget.trim().parse::<u64>() {
        Ok(most) if now <= most => None,
        Ok(most) => Some(format!("{name}: {now} bytes, {most} allowed by its budget")),
        Err(_) => Some(format!("{name}: its budget '{budget}' is no number")),
    }
}

/// Returns the table, in Markdown.
fn table(all: &[Measured]) -> String {
    let row = |what: &str, of: &dyn Fn(&Measured) -> u64| {
        let numbers = all.iter().map(|it| format!(" {} |", of(it)));
        format!("| {what} |{}\n", numbers.collect::<String>())
    };
    let heads = all.iter().map(|it| format!(" {} |", it.name));
    let mut text = format!("| bytes |{}\n", heads.collect::<String>());
    text += &format!("| --- |{}\n", " ---: |".repeat(all.len()));
    text += &row("program, stripped", &|it| it.sizes.file);
    text += &row("text", &|it| it.sizes.text);
    text += &row("data", &|it| it.sizes.data);
    text += &row("bss", &|it| it.sizes.bss);
    for (index, part) in PARTS.iter().enumerate() {
        text += &row(&format!("of it {part}"), &|it| it.sizes.parts[index]);
    }
    text += &row("slot of an operation", &|it| it.slots[0]);
    text += &row("slot of a message without a receive", &|it| it.slots[1]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(file: u64) -> Measured {
        let sizes = Sizes {
            file,
            ..Sizes::default()
        };
        Measured {
            name: "one-host",
            sizes,
            slots: [1, 2],
        }
    }

    #[test]
    fn budgets_hold_up_to_the_byte() {
        let text = "# most bytes\npoint-to-point 1\none-host 100\n";
        assert_eq!(excess(text, &measured(100)), None);
        let told = excess(text, &measured(101)).expect("too large");
        assert!(
            told.contains("101") && told.contains("100 allowed"),
            "{told}"
        );
        let told = excess("point-to-point 1", &measured(101)).expect("no budget");
        assert!(told.contains("one-host: 101 bytes, and no line"), "{told}");
        assert!(excess("one-host many", &measured(1)).is_some());
    }

    #[test]
    fn a_row_for_each_part() {
        let text = table(&[measured(7)]);
        assert!(text.contains("| program, stripped | 7 |"), "{text}");
        assert_eq!(text.lines().count(), 2 + 4 + PARTS.len() + 2);
    }
}
