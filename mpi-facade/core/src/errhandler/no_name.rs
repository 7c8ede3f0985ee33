//! Without diagnostics texts of errors name no communicator.

use crate::constants::Comm;
use pombo_job::log::LogLine;

/// Stands for the name of a communicator.
pub(crate) struct CommunicatorName;

impl CommunicatorName {
    pub(crate) fn of(_: Comm) -> Self {
        CommunicatorName
    }

    pub(crate) fn put(&self, _: &mut LogLine) {}
}
