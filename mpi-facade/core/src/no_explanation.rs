//! Stands in for [`explanation`](crate) where the library is built without diagnostics: a rank that waits answers
//! nothing.

use crate::constants::Request;
use crate::message_header::MpiPattern;
use crate::runtime::world::World;

/// The wait of the current call: nothing of it is kept.
#[derive(Default)]
pub(crate) struct WaitRecord;

/// Answers no question.
pub(crate) fn attend(_: &mut World, _: u32, _: impl FnOnce(&mut World)) {}

/// Adds nothing.
pub(crate) fn add_request(_: &mut World, _: Request) {}

/// Adds nothing.
pub(crate) fn add_probe(_: &mut World, _: MpiPattern) {}

/// Adds nothing.
pub(crate) fn add_collective(_: &mut World, _: u32) {}

/// Adds nothing.
pub(crate) fn add_generalized(_: &mut World) {}
