//! A socket for processes of other machines, which get a thread each: that of the launcher, of which the thread is the proxy
//! of a process that knows the key, and that of a place of a job on several hosts.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | connections that have not proved that they know the key | 8 | the oldest is closed |
//! | these, and those closed so whose threads have not ended | 32 | a new one is closed |

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};
use std::thread;

use pombo_netdrivers::udp::interfaces;

use crate::ports::Ports;

/// Most connections that have not proved yet that they know the key.
const MOST_PENDING: usize = 8;
/// Most threads for these, and for those that have been closed: a thread needs some time to notice that.
const MOST_THREADS: usize = 32;

/// What serves a connection.
pub(super) type Serve = Arc<dyn Fn(TcpStream, Arc<TcpStream>) + Send + Sync>;

pub(super) struct FarListener {
    listener: TcpListener,
    /// The connections, as long as they have to prove that they know the key.
    pending: VecDeque<Weak<TcpStream>>,
    /// Those that have been closed for newer ones, until their threads notice.
    closed: Vec<Weak<TcpStream>>,
}

impl FarListener {
    /// Listens at all addresses of this machine, at one of these ports, and returns them; `None` if it has none that others
    /// reach, or no port is allowed.
    pub(super) fn open(ports: Ports) -> io::Result<Option<(FarListener, Vec<SocketAddr>)>> {
        let all = interfaces().map_err(io::Error::other)?;
        let near_only = |ip: IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        let outward = all
            .iter()
            .filter(|one| one.running && !one.loopback && !near_only(one.address));
        let (four, six): (Vec<IpAddr>, Vec<IpAddr>) =
            outward.map(|one| one.address).partition(IpAddr::is_ipv4);
        let (any, mut ips): (IpAddr, _) = match four.is_empty() {
            false => (Ipv4Addr::UNSPECIFIED.into(), four),
            true => (Ipv6Addr::UNSPECIFIED.into(), six),
        };
        ips.dedup();
        if ips.is_empty() {
            return Ok(None);
        }
        let Some(listener) = ports.bind(any)? else {
            return Ok(None);
        };
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let addresses = ips
            .into_iter()
            .map(|ip| SocketAddr::new(ip, port))
            .collect();
        let far = FarListener {
            listener,
            pending: VecDeque::new(),
            closed: Vec::new(),
        };
        Ok(Some((far, addresses)))
    }

    /// Takes new connections, few at a time. Each is served by a thread, which holds the second of what it gets until the
    /// process has proved that it knows the key.
    pub(super) fn accept(&mut self, serve: &Serve) {
        for _ in 0..MOST_PENDING {
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            self.pending.retain(|one| one.strong_count() > 0);
            self.closed.retain(|one| one.strong_count() > 0);
            // Left where it is, it would wake the launcher again and again.
            if self.pending.len() + self.closed.len() >= MOST_THREADS {
                continue;
            }
            if self.pending.len() == MOST_PENDING
                && let Some(oldest) = self.pending.pop_front()
                && let Some(stream) = oldest.upgrade()
            {
                let _ = stream.shutdown(Shutdown::Both);
                self.closed.push(oldest);
            }
            // What has no thread is closed.
            let _ = self.start(stream, serve.clone());
        }
    }

    fn start(&mut self, stream: TcpStream, serve: Serve) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        let proves = Arc::new(stream.try_clone()?);
        self.pending.push_back(Arc::downgrade(&proves));
        let thread = thread::Builder::new().name("joined".into());
        thread.spawn(move || serve(stream, proves))?;
        Ok(())
    }
}

impl AsFd for FarListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
