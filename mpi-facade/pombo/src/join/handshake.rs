//! The handshake of a connection from another machine: either side proves that it knows the job's key, without sending it.
//!
//! The launcher sends [`MAGIC`] and a nonce; who joins answers with a nonce of its own and a proof, which is the BLAKE2s hash
//! of the key and both nonces. The launcher answers with a line, as on its local socket, and a proof that covers the line. The
//! key of the records that follow is another such hash.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use blake2::{Blake2s256, Digest};

use super::Refusal;
use super::job_file::{JobFile, KEY, random};
use super::refusal;
use super::wire::{Wire, watch};

/// The version of this and of what follows stands in it.
const MAGIC: &[u8; 13] = b"pombo-join-4\n";
/// Bytes of a nonce and of a proof.
const BLOCK: usize = 32;
/// Bytes of the longest line of the launcher.
const LONGEST: u64 = 100;
/// An address that does not answer for so long is not reached; the next one is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// A side that is silent for so long is not what it should be, or stopped.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// What both sides of a connection know.
struct Shared {
    key: [u8; KEY],
    nonces: [[u8; BLOCK]; 2],
}

impl Shared {
    fn hash(&self, what: &str, line: &str) -> [u8; BLOCK] {
        let mut hash = Blake2s256::new();
        hash.update(b"pombo join ");
        hash.update(what);
        hash.update(self.key);
        hash.update(self.nonces.as_flattened());
        hash.update(line);
        hash.finalize().into()
    }

    fn wire(&self, stream: TcpStream, first: bool) -> io::Result<Wire> {
        let [secret, _] = *self.hash("records", "").as_chunks::<16>().0 else {
            return Err(ErrorKind::InvalidData.into());
        };
        Wire::new(stream, secret, first)
    }
}

/// A process of another machine that knows the key.
pub(super) struct Joiner {
    stream: TcpStream,
    shared: Shared,
}

/// Answers whoever has connected; `None` if it does not know the key, which it is told.
pub(super) fn accept(mut stream: TcpStream, file: &JobFile) -> io::Result<Option<Joiner>> {
    watch(&stream)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let nonce = random()?;
    stream.write_all(MAGIC)?;
    stream.write_all(&nonce)?;
    let mut answer = [[0; BLOCK]; 2];
    stream.read_exact(answer.as_flattened_mut())?;
    let [other, proof] = answer;
    let shared = Shared {
        key: *file.key(),
        nonces: [nonce, other],
    };
    if !is_equal(&shared.hash("joiner", ""), &proof) {
        stream.write_all(format!("{}\n", refusal::WRONG_KEY).as_bytes())?;
        return Ok(None);
    }
    Ok(Some(Joiner { stream, shared }))
}

impl Joiner {
    /// Answers with a line, and returns the connection for records.
    pub(super) fn answer(mut self, line: &str) -> io::Result<Wire> {
        let proof = self.shared.hash("launcher", line);
        self.stream.write_all(format!("{line}\n").as_bytes())?;
        self.stream.write_all(&proof)?;
        self.shared.wire(self.stream, true)
    }
}

/// Asks for a place at an address of the job. Returns the line of the answer, and the connection for records.
pub(super) fn ask(file: &JobFile, address: SocketAddr) -> Result<(String, Wire), Refusal> {
    let connected = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT);
    let mut stream = connected.map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused => Refusal::NoLauncher,
        _ => Refusal::Unreachable(address, error),
    })?;
    watch(&stream)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut magic = [0; MAGIC.len()];
    let mut nonce = [0; BLOCK];
    stream.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(Refusal::NoLauncher);
    }
    stream.read_exact(&mut nonce)?;
    let shared = Shared {
        key: *file.key(),
        nonces: [nonce, random()?],
    };
    stream.write_all(&shared.nonces[1])?;
    stream.write_all(&shared.hash("joiner", ""))?;
    // Nothing follows the proof before this side answers, so the buffer holds no more.
    let mut reader = BufReader::new((&stream).take(LONGEST));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let line = line.strip_suffix('\n').ok_or(Refusal::NoLauncher)?;
    if line == refusal::WRONG_KEY {
        return Err(Refusal::WrongKey);
    }
    let mut proof = [0; BLOCK];
    reader.read_exact(&mut proof)?;
    if !is_equal(&shared.hash("launcher", line), &proof) {
        return Err(Refusal::Impostor);
    }
    Ok((line.into(), shared.wire(stream, false)?))
}

/// Compares in a time that tells nothing of either.
pub(super) fn is_equal(one: &[u8; BLOCK], other: &[u8; BLOCK]) -> bool {
    let pairs = one.iter().zip(other);
    pairs.fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// Returns what is told to who joins, by a launcher that has the same key, or another.
    fn meet(same: bool) -> Result<String, Refusal> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let file = JobFile::new(vec![listener.local_addr().unwrap()]).unwrap();
        let other = JobFile::new(Vec::new()).unwrap();
        thread::scope(|scope| {
            let launcher = scope.spawn(|| {
                let (stream, _) = listener.accept().unwrap();
                let knows = if same { &file } else { &other };
                let joiner = accept(stream, knows).unwrap();
                joiner.map(|joiner| joiner.answer("1 2 3 4").unwrap())
            });
            let told = ask(&file, file.addresses()[0]).map(|(line, _)| line);
            assert_eq!(launcher.join().unwrap().is_some(), same);
            told
        })
    }

    #[test]
    fn only_who_knows_the_key_is_answered() {
        assert_eq!(meet(true).unwrap(), "1 2 3 4");
        assert!(matches!(meet(false), Err(Refusal::WrongKey)));
    }

    #[test]
    fn a_launcher_that_does_not_know_the_key_is_not_believed() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let file = JobFile::new(vec![listener.local_addr().unwrap()]).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(MAGIC).unwrap();
                stream.write_all(&[1; BLOCK]).unwrap();
                stream.read_exact(&mut [0; 2 * BLOCK]).unwrap();
                stream.write_all(b"1 2 3 4\n").unwrap();
                stream.write_all(&[2; BLOCK]).unwrap();
            });
            assert!(matches!(
                ask(&file, file.addresses()[0]),
                Err(Refusal::Impostor)
            ));
        });
    }
}
