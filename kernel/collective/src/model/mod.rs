//! What operations cost, and the trees that cost least: pure arithmetic for choosing while a program is built.
//!
//! | what | source |
//! | --- | --- |
//! | [`Hold`]: a message keeps its sender busy for one time and reaches its receiver after another | parameterised multicast trees |
//! | [`Optimal`]: the best broadcast tree for these two times | the same |
//! | [`Line`]: start-up, time for each byte, hops, one shared medium or physical broadcast | ECCLib, chapter 4 |

mod hold;
mod line;
mod optimal;

pub use hold::{Hold, Multicast};
pub use line::Line;
pub use optimal::Optimal;
