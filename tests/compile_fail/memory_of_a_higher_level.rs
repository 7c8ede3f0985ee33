//! Memory that knows more of its contents than the composition carries is found when the program is built.
mod help;
use help::*;
use pombo_kernel::aspect::{Full, Homogeneous, NoDatatypes, Unbuffered, Unobserved};

#[cfg(feature = "wrong")]
type Level = NoDatatypes; //~ kernel E0080
#[cfg(not(feature = "wrong"))]
type Level = Full;

type Leveled = Composition<
    U32,
    Eager,
    Linear,
    Static,
    Capacities<8, 8, 64, 2>,
    Unobserved,
    Level,
    Homogeneous,
    Unbuffered,
>;

pub fn case(channel: SelfChannel<512>) -> Result<(), Error> {
    Communicator::<Tag, SelfChannel<512>, Segmented<'_, 4>, Leveled>::new(channel).map(drop)
}
