//! The file by which processes join a running job: it names the sockets where its places are given, and holds the job's key.
//! `run` writes it, `pombo join` reads it.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::net::SocketAddr as FarAddress;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

use blake2::{Blake2s256, Digest};
use nix::unistd::geteuid;
use serde::Deserialize;

use super::Refusal;
use crate::error::Error;
use crate::procfs::hostname;

/// Bytes of the key.
pub(super) const KEY: usize = 32;

/// The version of the file, and of what is said at those sockets.
const VERSION: u32 = 4;
/// Most bytes of the file that are read.
const LONGEST: u64 = 64 << 10;
/// Most addresses that the file names: with as many it is shorter than what is read of it.
const MOST_ADDRESSES: usize = 1024;

/// What a process must know to join.
pub(super) struct JobFile {
    /// The name of the launcher's socket in the abstract namespace, which exists as long as the launcher; empty for a job on
    /// several hosts, whose places are there.
    socket: String,
    /// The machine that it runs on, by name and by its present boot, which is empty where the system does not tell it.
    host: String,
    boot: String,
    /// The addresses at which its launcher listens for other machines, or those of the places of a job on several hosts.
    addresses: Vec<FarAddress>,
    key: [u8; KEY],
    /// The user who wrote the file: the only one whose launcher is believed.
    owner: u32,
}

/// What files of all versions have.
#[derive(Deserialize)]
struct Versioned {
    version: Option<u32>,
    #[serde(rename = "key")]
    _key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    #[serde(rename = "version")]
    _version: u32,
    socket: String,
    host: String,
    boot: String,
    /// A file without them is one for this machine alone.
    #[serde(default)]
    addresses: Vec<FarAddress>,
    key: String,
}

impl JobFile {
    /// Makes up the socket's name and the key. Of the addresses it keeps as many as the file has room for.
    pub(super) fn new(addresses: Vec<FarAddress>) -> Result<JobFile, Error> {
        let failed = Error::system("read random numbers");
        let (name, key): ([u8; 8], _) = random()
            .and_then(|name| Ok((name, random()?)))
            .map_err(failed)?;
        let socket = format!("pombo-join-{}", hexadecimal(&name));
        Ok(JobFile::with(socket, addresses, key))
    }

    /// Creates that of a job on several hosts, whose places are at these addresses. The key comes from a secret that these
    /// places know as well.
    pub(super) fn of_several_hosts(addresses: Vec<FarAddress>, secret: &str) -> JobFile {
        let key = Blake2s256::new_with_prefix(b"pombo join key ").chain_update(secret);
        JobFile::with(String::new(), addresses, key.finalize().into())
    }

    fn with(socket: String, mut addresses: Vec<FarAddress>, key: [u8; KEY]) -> JobFile {
        addresses.truncate(MOST_ADDRESSES);
        JobFile {
            socket,
            host: plain(&hostname()),
            boot: boot(),
            addresses,
            key,
            owner: geteuid().as_raw(),
        }
    }

    /// Writes the file for this user alone, in place of an older one.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let addresses: Vec<_> = self
            .addresses
            .iter()
            .map(|at| format!("\"{at}\""))
            .collect();
        let text = format!(
            "# Whoever can read this file can join the job: pombo join FILE PROGRAM. It goes with the job.\n\
             version = {VERSION}\nsocket = \"{}\"\nhost = \"{}\"\nboot = \"{}\"\naddresses = [{}]\nkey = \"{}\"\n",
            self.socket,
            self.host,
            self.boot,
            addresses.join(", "),
            hexadecimal(&self.key)
        );
        let new = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)
            .map_err(Error::file("write", path))?;
        let written = file
            .set_permissions(Permissions::from_mode(0o600))
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&new, path));
        written.map_err(|source| {
            let _ = fs::remove_file(&new);
            Error::file("write", path)(source)
        })
    }

    /// Removes the file, unless another job has written its own in the meantime.
    pub(super) fn remove(&self, path: &Path) {
        if JobFile::read(path).is_ok_and(|file| file.key == self.key) {
            let _ = fs::remove_file(path);
        }
    }

    /// Reads the file of a running job.
    pub(super) fn read(path: &Path) -> Result<JobFile, Error> {
        let refused = |why| Error::Join {
            job: path.to_owned(),
            why,
        };
        let file = File::open(path).map_err(Error::file("open the job's file", path))?;
        let owner = file.metadata().map_err(Error::file("read", path))?.uid();
        // A file of another kind may be long.
        let mut text = String::new();
        let read = file.take(LONGEST).read_to_string(&mut text);
        read.map_err(|_| refused(Refusal::NotAJobFile))?;
        let versioned: Versioned =
            toml::from_str(&text).map_err(|_| refused(Refusal::NotAJobFile))?;
        if versioned.version != Some(VERSION) {
            return Err(refused(Refusal::OtherVersion));
        }
        let contents: Contents =
            toml::from_str(&text).map_err(|_| refused(Refusal::NotAJobFile))?;
        let key = bytes(&contents.key).ok_or_else(|| refused(Refusal::NotAJobFile))?;
        Ok(JobFile {
            socket: contents.socket,
            host: contents.host,
            boot: contents.boot,
            addresses: contents.addresses,
            key,
            owner,
        })
    }

    /// Returns the name of the launcher's machine if it is another one, or has been started anew, as far as either tells.
    pub(super) fn other_machine(&self) -> Option<&str> {
        let boot = boot();
        let are_told = !boot.is_empty() && !self.boot.is_empty();
        (are_told && boot != self.boot).then_some(&self.host)
    }

    /// Returns whether the job is on several hosts: then no place is in memory of the launcher's machine.
    pub(super) fn is_of_several_hosts(&self) -> bool {
        self.socket.is_empty()
    }

    /// Returns the address of the launcher's socket.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        SocketAddr::from_abstract_name(&self.socket)
    }

    /// Returns the addresses where other machines get a place; none if the launcher's has no network.
    pub(super) fn addresses(&self) -> &[FarAddress] {
        &self.addresses
    }

    pub(super) fn key(&self) -> &[u8; KEY] {
        &self.key
    }

    pub(super) fn owner(&self) -> u32 {
        self.owner
    }
}

/// Returns random bytes, which nobody can guess.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns a word for this machine's present boot; an empty one where the system hides it.
fn boot() -> String {
    plain(&fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default())
}

/// Returns what of a name can stand between quotes in the file.
fn plain(text: &str) -> String {
    let plain = |digit: &char| digit.is_alphanumeric() || ".-_".contains(*digit);
    text.trim().chars().filter(plain).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Option<[u8; KEY]> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| Some(digit.to_digit(16)? as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len() == 2 * KEY)?;
    let mut key = [0; KEY];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_was_written() {
        let path = std::env::temp_dir().join(format!("pombo-job-file-{}", std::process::id()));
        let longest = FarAddress::from(([u16::MAX; 8], u16::MAX));
        let file = JobFile::new(vec![longest; MOST_ADDRESSES + 1]).unwrap();
        assert_eq!(file.addresses().len(), MOST_ADDRESSES);
        file.write(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        let read = JobFile::read(&path).unwrap();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!((&read.socket, read.key), (&file.socket, file.key));
        assert_eq!(read.addresses(), file.addresses());
        assert_eq!(read.other_machine(), None);
        for (boot, is_other) in [("", false), ("another", true)] {
            let file = JobFile {
                boot: boot.into(),
                ..JobFile::new(Vec::new()).unwrap()
            };
            let knows_own = !super::boot().is_empty();
            assert_eq!(file.other_machine().is_some(), is_other && knows_own);
        }
        let why = |text: &str| {
            fs::write(&path, text).unwrap();
            match JobFile::read(&path) {
                Err(Error::Join { why, .. }) => format!("{why:?}"),
                _ => panic!("{text:?}"),
            }
        };
        let whole = fs::read_to_string(&path).unwrap();
        let other = whole.replace(&format!("version = {VERSION}"), "version = 99");
        for (wrong, because) in [
            ("", "NotAJobFile"),
            ("version = 4\nsocket = \"x\"\nkey = \"12\"\n", "NotAJobFile"),
            ("\u{1}", "NotAJobFile"),
            ("socket = \"x\"\nkey = \"12\"\n", "OtherVersion"),
            (&other, "OtherVersion"),
        ] {
            assert_eq!(why(wrong), because, "{wrong:?}");
        }
        fs::remove_file(&path).unwrap();
        assert!(JobFile::read(&path).is_err());
    }
}
