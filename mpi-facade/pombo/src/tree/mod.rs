//! `pombo tree`: what a broadcast costs along trees of every shape, by t_hold and t_end, and one of these trees as text
//! and as a drawing. `cli` calls it.

mod plot;
mod timed_tree;

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use clap::ValueEnum;
use pombo_collective::model::{Hold, OptimalTree, Split};
use pombo_collective::topology::{Binomial, Blocked, Chain, Kary, Sequential};

use crate::console::tell;
use crate::error::Error;
use timed_tree::TimedTree;

/// The longest time that is taken, so that sums of times stay numbers.
const LONGEST: u64 = 1_000_000_000_000;

/// What `pombo tree` was asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of ranks
    #[arg(long, value_name = "RANKS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    k: u32,
    /// t_hold: how long a send keeps its sender from the next one, in any unit of time, such as ns
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(..=LONGEST))]
    hold: u64,
    /// t_end: from the beginning of a send until its receiver can forward the message, in the same unit
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(..=LONGEST))]
    end: u64,
    /// The tree to print and draw
    #[arg(long, value_enum, default_value_t = Form::Optimal)]
    shape: Form,
    /// Ranks in a block of the blocked binomial tree [default: what is best]
    #[arg(long, value_name = "RANKS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    block: Option<u32>,
    /// Draw the tree with the time lines of its ranks
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The shapes of trees.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Optimal,
    Binomial,
    Blocked,
    Binary,
    Sequential,
    Chain,
}

/// Prints the table and the tree, and draws it.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    let times = Hold {
        hold: options.hold,
        end: options.end,
    };
    let ranks = options.k as usize;
    let forms = Form::value_variants();
    let trees: Vec<TimedTree> = forms
        .iter()
        .map(|form| form.tree(times, ranks, options.block))
        .collect();
    let mut text = format!(
        "{ranks} ranks, t_hold {}, t_end {}; all times are in the unit of these two\n{:<24} {:>12} {:>12}\n",
        times.hold, times.end, "tree", "latency", "hold"
    );
    for tree in &trees {
        let (name, latency, hold) = (&tree.name, tree.latency(), tree.hold());
        text += &format!("{name:<24} {latency:>12} {hold:>12}\n");
    }
    let chosen = forms.iter().zip(&trees);
    for (_, tree) in chosen.filter(|(form, _)| **form == options.shape) {
        text += &format!("\n{}: each rank, and when it has the message", tree.name);
        for (rank, depth) in tree.rows() {
            let (space, at) = ("  ".repeat(depth), tree.arrival(rank));
            text += &format!("\n{space}{rank} at {at}");
        }
        if let Some(path) = &options.svg {
            let file = File::create(path).map_err(Error::file("write", path))?;
            plot::write(tree, BufWriter::new(file)).map_err(Error::file("write", path))?;
        }
    }
    tell(&text);
    Ok(0)
}

impl Form {
    fn tree(self, times: Hold, ranks: usize, block: Option<u32>) -> TimedTree {
        match self {
            Form::Optimal => {
                let mut table = vec![Split::ALONE; ranks + 1];
                let tree = OptimalTree::new(times, &mut table);
                TimedTree::new("optimal", tree, times, ranks)
            }
            Form::Binomial => TimedTree::new("binomial", Binomial, times, ranks),
            Form::Blocked => {
                let blocks = match block {
                    Some(block) => block as usize..=block as usize,
                    None => 1..=ranks,
                };
                let of = |block| {
                    let name = format!("blocked binomial, {block}");
                    TimedTree::new(name, Blocked { block }, times, ranks)
                };
                // The first of the best: smaller blocks occupy the root for less time.
                let rest = (blocks.start() + 1..=*blocks.end()).map(of);
                rest.fold(of(*blocks.start()), |best, tree| {
                    if tree.latency() < best.latency() {
                        tree
                    } else {
                        best
                    }
                })
            }
            Form::Binary => TimedTree::new("binary", Kary::<2>, times, ranks),
            Form::Sequential => TimedTree::new("sequential", Sequential, times, ranks),
            Form::Chain => TimedTree::new("chain", Chain, times, ranks),
        }
    }
}
