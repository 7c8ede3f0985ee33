//! Tests of groups: the directory against a simple model, and the agreement in a simulator that kills processes and
//! cuts links. `POMBO_GROUP_SCHEDULES` sets the number of schedules, `POMBO_GROUP_SEED` the first one.

#[path = "groups/directory.rs"]
mod directory;
#[path = "groups/model.rs"]
mod model;
#[path = "groups/schedules.rs"]
mod schedules;
#[path = "groups/threads.rs"]
mod threads;
#[path = "groups/world.rs"]
mod world;
