//! What messages cost, for the ranks: the file that `POMBO_NETWORK` names is read here, once for all of them, so that all
//! select algorithms alike, also on hosts that do not have the file. Only `run` uses it.

use std::path::Path;

use pombo_mpi::settings::NETWORK_TIMES;

use super::arguments::Request;
use crate::error::Error;
use crate::measure::network_file::NetworkFile;
use crate::variables::NETWORK;

/// Passes the times of the file to every program of the job.
///
/// # Errors
/// There is no such file, or it is invalid.
pub(super) fn add(request: &mut Request) -> Result<(), Error> {
    for context in &mut request.contexts {
        let mut own = context.environment.iter().rev();
        let own = own.find(|(name, _)| name == NETWORK.name());
        let file = own.map(|(_, value)| value.clone());
        let file = file.or_else(|| std::env::var_os(NETWORK.name()));
        if let Some(file) = file.filter(|file| !file.is_empty()) {
            let directory = context.directory.as_deref().unwrap_or(Path::new("."));
            let times = NetworkFile::read(&directory.join(file))?.compact();
            context
                .environment
                .push((NETWORK_TIMES.name().into(), times.into()));
        }
    }
    Ok(())
}
