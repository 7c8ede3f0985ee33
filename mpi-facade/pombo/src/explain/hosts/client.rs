//! `pombo explain` of a launcher whose job spans hosts.

use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use super::protocol::{Hello, Lines, send};
use super::survey::Survey;
use crate::explain::job_memory;

/// The name of the memory in which a launcher writes where its desk is, and the key.
pub(super) const MEMORY: &str = "pombo-desk";

/// How long the launcher may take: it waits for its hosts itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks the launcher with that process ID; `None` if its job is on one host, or it is no launcher.
pub(crate) fn ask(launcher: u32) -> Option<io::Result<Survey>> {
    let path = job_memory::named(launcher, &format!("/memfd:{MEMORY} (deleted)")).ok()?;
    let said = std::fs::read_to_string(path.first()?).ok()?;
    let (port, key) = said.split_once(':')?;
    Some(survey(port.parse().ok()?, key))
}

fn survey(port: u16, key: &str) -> io::Result<Survey> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let key = key.to_owned();
    send(&stream, &Hello::Explain { key })?;
    Lines::new(stream).next()
}
