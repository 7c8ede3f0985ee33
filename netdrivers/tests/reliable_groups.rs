//! Reliable broadcast over networks that lose, repeat, delay and damage frames, in simulated time.
//!
//! `POMBO_SCHEDULES=1000000` runs more schedules than usual; `POMBO_SCHEDULE=SEED` runs one and prints what it is.

#[path = "reliable_groups/bound.rs"]
mod bound;
#[path = "reliable_groups/cast.rs"]
mod cast;
#[path = "reliable_groups/filtered.rs"]
mod filtered;
#[path = "reliable_groups/forged.rs"]
mod forged;
#[path = "reliable_groups/goals.rs"]
mod goals;
#[path = "reliable_groups/schedules.rs"]
mod schedules;
#[path = "reliable_groups/small.rs"]
mod small;
#[path = "reliable_groups/table.rs"]
mod table;
#[path = "reliable/trusted.rs"]
mod trusted;
