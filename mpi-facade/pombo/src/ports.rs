//! The ports at which processes of other machines can join: `--join-ports` and `POMBO_JOIN_PORTS`.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, TcpListener};
use std::str::FromStr;

/// Most places of a job that processes of other machines join. The memory of a job has a ring for each two places, and it is on
/// their machine once for each process; and ranks on several hosts have a connection for each two.
pub(crate) const MOST_PLACES: usize = 256;

/// What the option and the variable must be.
pub(crate) const MUST: &str = "any, none, a port, or a range of ports such as 5000:5010";

/// The ports that may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ports {
    Any,
    None,
    Range(u16, u16),
}

impl Ports {
    /// Listens at the first that is free; `None` if none may be used.
    pub(crate) fn bind(self, ip: IpAddr) -> io::Result<Option<TcpListener>> {
        let (first, last) = match self {
            Ports::None => return Ok(None),
            Ports::Any => (0, 0),
            Ports::Range(first, last) => (first, last),
        };
        let mut last_error = ErrorKind::AddrInUse.into();
        for port in first..=last {
            match TcpListener::bind((ip, port)) {
                Ok(listener) => return Ok(Some(listener)),
                Err(error) => last_error = error,
            }
        }
        Err(last_error)
    }
}

/// As it is parsed.
impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ports::Any => f.write_str("any"),
            Ports::None => f.write_str("none"),
            Ports::Range(first, last) => write!(f, "{first}:{last}"),
        }
    }
}

impl FromStr for Ports {
    type Err = ();

    fn from_str(text: &str) -> Result<Ports, ()> {
        let port = |text: &str| text.parse().ok().filter(|port| *port > 0).ok_or(());
        match (text, text.split_once(':')) {
            ("any", _) => Ok(Ports::Any),
            ("none", _) => Ok(Ports::None),
            (_, Some((first, last))) => {
                let (first, last) = (port(first)?, port(last)?);
                (first <= last)
                    .then_some(Ports::Range(first, last))
                    .ok_or(())
            }
            (_, None) => port(text).map(|port| Ports::Range(port, port)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn what_ports_may_be() {
        for (text, ports) in [
            ("any", Some(Ports::Any)),
            ("none", Some(Ports::None)),
            ("5000", Some(Ports::Range(5000, 5000))),
            ("5000:5010", Some(Ports::Range(5000, 5010))),
            ("5010:5000", None),
            ("0", None),
            ("65536", None),
            ("", None),
            ("1:2:3", None),
        ] {
            assert_eq!(text.parse().ok(), ports, "{text}");
            if let Some(ports) = ports {
                assert_eq!(ports.to_string().parse(), Ok(ports));
            }
        }
    }

    #[test]
    fn the_first_free_port_is_taken() {
        let here = Ipv4Addr::LOCALHOST.into();
        let used = TcpListener::bind((here, 0)).unwrap();
        let port = used.local_addr().unwrap().port();
        let only = Ports::Range(port, port);
        let refused = only.bind(here).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AddrInUse);
        let last = port.saturating_add(100);
        let next = Ports::Range(port, last).bind(here).unwrap().unwrap();
        assert!((port + 1..=last).contains(&next.local_addr().unwrap().port()));
        assert!(Ports::None.bind(here).unwrap().is_none());
    }
}
