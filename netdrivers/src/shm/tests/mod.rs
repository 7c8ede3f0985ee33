//! Tests of parts that one process can run without system calls.

mod cma;
mod event_count;
mod ring;
mod single_copy;
mod wake_socket;
