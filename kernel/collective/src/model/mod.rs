//! Cost of operations, and the trees of least cost: `const` arithmetic for choosing at build time, and the same at run
//! time.
//!
//! | what | source |
//! | --- | --- |
//! | [`Hold`]: the times of a message at its sender and until its receiver has it | parameterised multicast trees |
//! | [`Optimal`], [`OptimalTree`]: the best broadcast tree for these two times, as a constant or in the caller's memory | the same |
//! | [`Prediction`]: the time of every operation by every algorithm, from these two times of each size on a [`Network`] | |
//! | [`Hockney`]: start-up, time for each byte, hops, one shared medium or physical broadcast | ECCLib, chapter 4 |

mod hockney;
mod hold_end;
mod optimal_tree;
mod prediction;

pub use hockney::Hockney;
pub use hold_end::{Hold, Multicast};
pub use optimal_tree::{Optimal, OptimalTree, Split};
pub use prediction::{Network, Prediction};
