//! Cost of operations, and the trees of least cost: `const` arithmetic for choosing at build time.
//!
//! | what | source |
//! | --- | --- |
//! | [`Hold`]: the times of a message at its sender and until its receiver has it | parameterised multicast trees |
//! | [`Optimal`]: the best broadcast tree for these two times | the same |
//! | [`Hockney`]: start-up, time for each byte, hops, one shared medium or physical broadcast | ECCLib, chapter 4 |

mod hockney;
mod hold_end;
mod optimal_tree;

pub use hockney::Hockney;
pub use hold_end::{Hold, Multicast};
pub use optimal_tree::Optimal;
