//! Reliable broadcast over networks that lose, repeat, delay and damage frames, in simulated time.
#![cfg(feature = "std")]

#[path = "reliable_groups/bound.rs"]
mod bound;
#[path = "reliable_groups/cast.rs"]
mod cast;
#[path = "reliable_groups/goals.rs"]
mod goals;
#[path = "reliable_groups/schedules.rs"]
mod schedules;
