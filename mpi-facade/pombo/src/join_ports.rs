//! What `POMBO_JOIN_PORTS` says. `run` and `join` ask.

use crate::error::Error;
use crate::ports::{MUST, Ports};
use crate::variables::JOIN_PORTS;

/// Returns the ports at which processes of other machines join, as the variable says.
pub(crate) fn ports_of_environment() -> Result<Ports, Error> {
    let said = std::env::var(JOIN_PORTS.name()).unwrap_or(JOIN_PORTS.default.into());
    said.parse().map_err(|()| Error::Value {
        what: JOIN_PORTS.name(),
        given: said,
        want: MUST,
    })
}
