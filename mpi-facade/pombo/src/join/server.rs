//! The launcher's side of `pombo join`: it gives places of the job to processes that know the key, and learns of their
//! end. Only `run` uses it.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use super::far_listener::{FarListener, Serve};
use super::handshake::is_equal;
use super::job_file::{JobFile, KEY};
use super::places::Places;
use super::proxy;
use super::refusal::{self, TAKEN};
use crate::console::warn;
use crate::error::Error;
use crate::ports::Ports;

/// Most connections that have not named the key yet; the oldest is closed for a newer one.
const MOST_PENDING: usize = 8;

/// Gives places to processes until it is dropped, which also removes the job's file.
pub(crate) struct JoinServer {
    path: PathBuf,
    file: Arc<JobFile>,
    listener: UnixListener,
    /// For other machines; `None` if this one has no network, or does not permit to listen.
    far: Option<FarListener>,
    /// Runs the proxy of a process of another machine.
    serve_far: Serve,
    pending: Vec<Pending>,
    members: Vec<Member>,
    /// The free places: each is taken once.
    free: BTreeSet<usize>,
    /// The number of all places of the job, and how many were free at first.
    places: usize,
    spare: usize,
    /// Whether the ranks that the job began with have ended.
    is_over: bool,
}

/// A connection that has not named the key yet.
struct Pending {
    connection: UnixStream,
    key: Vec<u8>,
}

/// A process that has a place.
struct Member {
    place: usize,
    /// Whether it has said that it can use the place.
    has_taken: bool,
    /// To `pombo join`, which holds it until its program has ended.
    connection: UnixStream,
}

/// The state of a connection from which all has been read that has come.
enum Connection {
    Open,
    Closed,
}

impl JoinServer {
    /// Listens, and writes the job's file. The places from `first` on are free, of `places` in all. Where it cannot listen
    /// for other machines it warns: from this one processes can join nevertheless.
    pub(crate) fn open(
        path: &Path,
        first: usize,
        places: usize,
        ports: Ports,
    ) -> Result<JoinServer, Error> {
        let far = FarListener::open(ports).unwrap_or_else(|error| {
            warn(&format!("nobody can join from other machines: {error}"));
            None
        });
        let (far, addresses) = far.unzip();
        let file = Arc::new(JobFile::new(addresses.unwrap_or_default())?);
        let key = file.clone();
        let listener = file.address().and_then(|address| {
            let listener = UnixListener::bind_addr(&address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = listener.map_err(Error::system("listen for who joins"))?;
        file.write(path)?;
        Ok(JoinServer {
            path: path.to_owned(),
            file,
            listener,
            far,
            serve_far: Arc::new(move |stream, proves| proxy::run(stream, &key, proves)),
            pending: Vec::new(),
            members: Vec::new(),
            free: (first..places).collect(),
            places,
            spare: places - first,
            is_over: false,
        })
    }

    /// Returns the descriptors that [`JoinServer::serve`] reads.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let pending = self.pending.iter().map(|one| &one.connection);
        let members = self.members.iter().map(|one| &one.connection);
        let connections = pending.chain(members).map(AsFd::as_fd);
        let far = self.far.iter().map(AsFd::as_fd);
        [self.listener.as_fd()]
            .into_iter()
            .chain(far)
            .chain(connections)
    }

    /// Returns whether nobody who has joined is still there.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Gives no more places: there is nobody to meet.
    pub(crate) fn close(&mut self) {
        self.is_over = true;
    }

    /// Handles what has come, without waiting. Returns the places of processes that have ended without leaving.
    pub(crate) fn serve(&mut self, job: &impl Places) -> Vec<usize> {
        self.accept();
        if let Some(far) = &mut self.far {
            far.accept(&self.serve_far);
        }
        // Ends come first: they may free a place for the next.
        let mut lost = Vec::new();
        self.members.retain_mut(|member| {
            let mut said = Vec::new();
            let is_there = matches!(read(&mut member.connection, &mut said), Connection::Open);
            member.has_taken |= said.starts_with(TAKEN);
            if !is_there && !member.has_taken {
                self.free.insert(member.place);
            } else if !is_there && !job.has_left(member.place) {
                job.mark_dead(member.place);
                lost.push(member.place);
            }
            is_there
        });
        for mut pending in std::mem::take(&mut self.pending) {
            let state = read(&mut pending.connection, &mut pending.key);
            match (pending.key.len() >= KEY, state) {
                (true, _) => self.admit(pending, job),
                (false, Connection::Open) => self.pending.push(pending),
                (false, Connection::Closed) => {}
            }
        }
        lost
    }

    /// Takes new connections, few at a time. Other users could not open the job's memory.
    fn accept(&mut self) {
        for _ in 0..MOST_PENDING {
            let Ok((connection, _)) = self.listener.accept() else {
                return;
            };
            let user = getsockopt(&connection, PeerCredentials).map(|who| who.uid());
            let may_join = user.is_ok_and(|user| user == 0 || user == self.file.owner());
            if !may_join || connection.set_nonblocking(true).is_err() {
                continue;
            }
            if self.pending.len() == MOST_PENDING {
                self.pending.remove(0);
            }
            let key = Vec::new();
            self.pending.push(Pending { connection, key });
        }
    }

    fn admit(&mut self, pending: Pending, job: &impl Places) {
        let Pending {
            mut connection,
            key,
        } = pending;
        let key: Result<[u8; KEY], _> = key.try_into();
        let is_known = key.is_ok_and(|key| is_equal(self.file.key(), &key));
        let next = self.free.first().copied();
        let given = next.filter(|_| is_known && !self.is_over);
        let answer = match given {
            Some(place) => format!("{place} {} {} {}", self.places, self.spare, job.memory()),
            None if !is_known => refusal::WRONG_KEY.into(),
            None if self.is_over => refusal::OVER.into(),
            None => refusal::FULL.into(),
        };
        let is_told = connection.write_all(format!("{answer}\n").as_bytes());
        if let Some(place) = given.filter(|_| is_told.is_ok()) {
            self.free.remove(&place);
            self.members.push(Member {
                place,
                has_taken: false,
                connection,
            });
        }
    }
}

/// Reads what has come.
fn read(connection: &mut UnixStream, into: &mut Vec<u8>) -> Connection {
    // What is longer than a key is none: the rest stays unread.
    let mut bytes = [0; KEY + 1];
    match connection.read(&mut bytes) {
        Ok(0) => Connection::Closed,
        Ok(len) => {
            into.extend(&bytes[..len]);
            Connection::Open
        }
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => Connection::Open,
            _ => Connection::Closed,
        },
    }
}

impl Drop for JoinServer {
    fn drop(&mut self) {
        self.file.remove(&self.path);
    }
}
