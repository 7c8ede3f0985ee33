//! The connections to a desk: a thread accepts them, and one for each reads what comes and makes events of it. Only
//! `desk` uses it.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use super::desk::Event;
use super::protocol::{HELLO_TIMEOUT, Hello, Lines, Placed};

/// Most connections at a time; others are closed. A job has at most 256 hosts.
const MAX_CONNECTIONS: usize = 512;
/// A reporter that takes no question for so long counts as gone.
const WRITE_TIMEOUT: Duration = Duration::from_millis(200);

/// Listens, and returns the port. Connections that do not know the key are closed.
pub(super) fn start(key: String, events: SyncSender<Event>) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
    let port = listener.local_addr()?.port();
    let key: Arc<str> = key.into();
    let accept = move || {
        let open = Arc::new(AtomicUsize::new(0));
        for (id, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { continue };
            if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (key, events, own) = (Arc::clone(&key), events.clone(), Arc::clone(&open));
            let read = move || {
                // Who does not follow the protocol is not heard.
                let _ = serve(stream, id, &key, &events);
                let _ = events.send(Event::Gone(id));
                own.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().spawn(read).is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    };
    thread::Builder::new().spawn(accept)?;
    Ok(port)
}

fn serve(stream: TcpStream, id: usize, key: &str, events: &SyncSender<Event>) -> io::Result<()> {
    stream.set_read_timeout(Some(HELLO_TIMEOUT))?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let mut lines = Lines::new(stream.try_clone()?);
    let stopped = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    match lines.hello()? {
        Hello::Reporter {
            key: said,
            host,
            name,
        } if said == key => {
            stream.set_read_timeout(None)?;
            let joined = Event::Joined {
                id,
                host,
                name,
                stream,
            };
            events.send(joined).map_err(stopped)?;
            loop {
                let answer = lines.next()?;
                let answered = Event::Answered { id, answer };
                events.send(answered).map_err(stopped)?;
            }
        }
        Hello::Place { key: said } if said == key => {
            stream.set_read_timeout(None)?;
            let waits = Event::Waits(stream.try_clone()?);
            events.send(waits).map_err(stopped)?;
            let Placed { addresses } = lines.next()?;
            events.send(Event::Placed(addresses)).map_err(stopped)?;
            // It takes the end of the connection for the end of the launcher.
            io::copy(&mut (&stream), &mut io::sink()).map(drop)
        }
        Hello::Explain { key: said } if said == key => {
            events.send(Event::Client(stream)).map_err(stopped)
        }
        _ => Ok(()),
    }
}
