//! Ranks over virtio devices that the test makes: they carry frames from one to the others, by the rules of virtio or
//! against them.

#[path = "virtio/breaks_rules.rs"]
mod breaks_rules;
#[path = "virtio/conforms.rs"]
mod conforms;
#[path = "virtio/machine.rs"]
mod machine;
#[path = "virtio/queue.rs"]
mod queue;
#[path = "virtio/wire.rs"]
mod wire;
