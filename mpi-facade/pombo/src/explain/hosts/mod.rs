//! Reports over several hosts. The launcher that the user started has a [`Desk`]; on every host a reporter, which the
//! first rank's command line starts beside the ranks, connects to it, asks the ranks of its host when the desk asks, and
//! sends their answers back. `pombo explain` asks the desk as well.

mod client;
mod desk;
mod listener;
mod process_tree;
mod protocol;
mod reporter;
mod survey;

pub(crate) use client::ask;
pub(crate) use desk::{Desk, Event, Finding};
pub(crate) use process_tree::KEEPER;
pub(crate) use reporter::{NAME, enter_place, main, report_place};
