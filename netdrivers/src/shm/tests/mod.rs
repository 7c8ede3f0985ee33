//! What one process can test of the parts that do not touch the machine.

mod event_count;
mod wake_socket;
mod single_copy;
mod cma;
mod ring;
