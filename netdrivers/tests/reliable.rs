//! A reliable channel over networks that lose, repeat, delay and damage frames.
//!
//! `POMBO_SCHEDULES=1000000` runs more schedules than usual; `POMBO_SCHEDULE=SEED` runs one and prints what it is.

#[path = "reliable/conforms.rs"]
mod conforms;
#[path = "reliable/forged.rs"]
mod forged;
#[path = "reliable/kernel.rs"]
mod kernel;
#[path = "reliable/schedules.rs"]
mod schedules;
#[path = "reliable/trusted.rs"]
mod trusted;
