//! Tests every matcher against a model that searches two vectors in order, and against the linear matcher within whole
//! communicators; and the growth of its searches with the length of its queues.

mod common;
#[path = "matchers/fifo.rs"]
mod fifo;
#[path = "matchers/growth.rs"]
mod growth;
#[path = "matchers/model.rs"]
mod model;
#[path = "matchers/protocols.rs"]
mod protocols;
#[path = "matchers/stingy.rs"]
mod stingy;
#[path = "matchers/whole.rs"]
mod whole;
