//! What one process can test of the parts that do not touch the machine.

mod bell;
mod door;
mod remote;
mod ring;
