//! What one process can test of the parts that do not touch the machine.

mod cma;
mod event_count;
mod ring;
mod single_copy;
mod wake_socket;
