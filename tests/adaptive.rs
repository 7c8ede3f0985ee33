//! Tests the adaptive minimum spanning tree: processes that know only their own links, under random delays, against
//! Kruskal's algorithm on the whole graph.
#![allow(unreachable_pub, reason = "modules of one test")]

#[path = "adaptive/address_spaces.rs"]
mod address_spaces;
#[path = "adaptive/build.rs"]
mod build;
#[path = "adaptive/changes.rs"]
mod changes;
#[path = "adaptive/deaths.rs"]
mod deaths;
#[path = "adaptive/graph.rs"]
mod graph;
#[path = "adaptive/hostile.rs"]
mod hostile;
#[path = "adaptive/monitor.rs"]
mod monitor;
#[path = "adaptive/network.rs"]
mod network;
#[path = "adaptive/orientation.rs"]
mod orientation;
