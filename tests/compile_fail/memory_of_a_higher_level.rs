//! The build detects memory of a higher level of datatypes than the composition supports.
mod help;
use help::*;
use pombo_kernel::WithLayout;
use pombo_kernel::aspect::{Cap, Element, Full, Homogeneous, NoDatatypes, Unbuffered, Unobserved};
use pombo_kernel::aspect::Storage;
use pombo_kernel::layout::Entry;

type Table = <Static as Storage>::Slice<Entry<Element>, Cap<4>>;

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
    Communicator::<Tag, SelfChannel<512>, WithLayout<'_, Table>, Leveled>::new(channel).map(drop)
}
