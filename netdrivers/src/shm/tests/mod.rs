//! What one process can test of the parts that do not touch the machine.

mod bell;
mod door;
mod offers;
mod remote;
mod ring;
