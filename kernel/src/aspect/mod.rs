//! Policy families. Every policy is a type that always exists; a [`Config`](crate::Config) names one of each family.
//! What a policy switches off is zero-sized and folds away.

mod length;
mod storage;
mod transfer;

pub use length::Length;
pub use storage::{Cap, Capacity, Cell, Slice, Static, Storage};
pub use transfer::{Announced, Eager, HoldState, Rendezvous, RendezvousField, Transfer};
