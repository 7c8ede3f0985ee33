//! `POMBO_AUTH_KEY_FILE`: a secret that ranks of a job share beforehand, so that an attacker who changes what their
//! launcher transmits gains nothing. Only `key_agreement` uses it.

use super::JobError;
use super::file_descriptor::Descriptor;
use crate::environment::{variable, wrong};
use crate::settings::{AUTH_KEY_FILE, KEY_FILE_BYTES};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::CStr;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::process::geteuid;

const NAME: &CStr = AUTH_KEY_FILE.name;
const SHORTEST: usize = KEY_FILE_BYTES.0;
const LONGEST: usize = KEY_FILE_BYTES.1;

/// Returns the contents of the file; nothing if no file is named.
pub(super) fn read() -> Result<Vec<u8>, Box<JobError>> {
    match variable(NAME) {
        Some(path) => read_at(path),
        None => Ok(Vec::new()),
    }
}

fn read_at(path: &CStr) -> Result<Vec<u8>, Box<JobError>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::empty());
    let failed = JobError::failed("open the file that POMBO_AUTH_KEY_FILE names");
    let file = file.map(Descriptor::from).map_err(failed)?;
    let failed = JobError::failed("look at the file of POMBO_AUTH_KEY_FILE");
    let found = fstat(&file).map_err(failed)?;
    let own = found.st_uid == geteuid().as_raw();
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || !own {
        return Err(wrong(NAME, "a file that belongs to this user"));
    }
    if found.st_mode & 0o077 != 0 {
        return Err(wrong(
            NAME,
            "a file that its owner alone may read: chmod 600",
        ));
    }
    let (mut bytes, mut end) = ([0; LONGEST + 1], 0);
    while end < bytes.len() {
        match file.read(&mut bytes[end..])? {
            0 => break,
            more => end += more,
        }
    }
    match end {
        SHORTEST..=LONGEST => Ok(Vec::from(&bytes[..end])),
        _ => Err(AUTH_KEY_FILE.wrong()),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::ffi::CString;
    use std::fs::{self, Permissions};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn at(path: &Path) -> Result<Vec<u8>, Box<JobError>> {
        let path = CString::new(path.as_os_str().as_bytes()).expect("a path");
        read_at(&path)
    }

    #[test]
    fn only_a_file_that_nobody_else_reads_is_taken() {
        let home = std::env::temp_dir().join(std::format!("pombo-key-{}", std::process::id()));
        fs::create_dir(&home).expect("a place");
        let file = home.join("key");
        let must = |path: &Path| match at(path).map_err(|error| *error) {
            Err(JobError::Variable { name, must, .. }) => {
                assert_eq!(name, c"POMBO_AUTH_KEY_FILE");
                must
            }
            other => panic!("{other:?}"),
        };
        for (len, mode, refused) in [
            (15, 0o600, Some("16 to 1024")),
            (16, 0o600, None),
            (1024, 0o400, None),
            (1025, 0o600, Some("16 to 1024")),
            (32, 0o640, Some("chmod 600")),
            (32, 0o604, Some("chmod 600")),
        ] {
            let _ = fs::remove_file(&file);
            fs::write(&file, std::vec![7; len]).expect("room");
            fs::set_permissions(&file, Permissions::from_mode(mode)).expect("it is ours");
            match refused {
                None => assert_eq!(at(&file), Ok(std::vec![7; len])),
                Some(why) => assert!(must(&file).contains(why), "{len} {mode:o}"),
            }
        }
        assert!(must(&home).contains("belongs to this user"));
        let link = home.join("link");
        symlink(&file, &link).expect("room");
        for missing in [link, home.join("none")] {
            assert!(matches!(
                at(&missing).map_err(|error| *error),
                Err(JobError::System { .. })
            ));
        }
        fs::remove_dir_all(&home).expect("it is ours");
    }
}
