//! Tests topologies and collective operations: the published tables, the laws of every topology, and every operation by
//! every algorithm on every topology against what each rank can compute alone.

#[path = "collectives/algorithms.rs"]
mod algorithms;
#[path = "collectives/any.rs"]
mod any;
#[path = "collectives/boards.rs"]
mod boards;
#[path = "collectives/case.rs"]
mod case;
#[path = "collectives/channels.rs"]
mod channels;
mod common;
#[path = "collectives/cost.rs"]
mod cost;
#[path = "collectives/direct.rs"]
mod direct;
#[path = "collectives/interleaving.rs"]
mod interleaving;
#[path = "collectives/laws.rs"]
mod laws;
#[path = "common/measured.rs"]
mod measured;
#[path = "collectives/model.rs"]
mod model;
#[path = "collectives/newcomer.rs"]
mod newcomer;
#[path = "collectives/prediction.rs"]
mod prediction;
#[path = "collectives/published.rs"]
mod published;
