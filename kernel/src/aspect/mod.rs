//! Policy families. Every policy is a type that always exists; a [`Config`](crate::Config) names one of each family.
//! What a policy switches off is zero-sized and is removed by the compiler.

mod buffering;
mod datatypes;
mod length_type;
mod observer;
mod representation;
mod storage;
mod transfer;

pub use buffering::{Buffered, Buffering, NoCopy, Unbuffered};
pub use datatypes::{
    Basic, Contiguous, Datatypes, Element, Full, Level, Narrow, NoDatatypes, Value,
};
pub use length_type::Length;
pub use observer::{Counter, Counters, Counting, Observer, Statistics, Unobserved};
pub use representation::{
    Canonical, Heterogeneous, Homogeneous, Native, Opposite, Order, Representation,
};
pub use storage::{Cap, Capacity, Cell, Slice, Static, Storage};
pub use transfer::{
    Absent, Announced, Eager, EarlyData, Maybe, Present, ReceiverInitiated, Rendezvous,
    RendezvousField, Transfer,
};
