//! `pombo setup`: checks whether programs of this user may send raw Ethernet frames, and tells how to allow it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pombo_job::settings;

use crate::console::tell;
use crate::error::Error;
use crate::helper::{self, HELPER};

/// The variable that names the helper if it is not on the path.
const VARIABLE: &str = settings::ETHERNET_HELPER.name();
/// The capability that the helper needs.
const CAPABILITY: &str = "cap_net_raw+ep";
/// The proposed group of users who may run the helper.
const GROUP: &str = "pombo";

/// The helper's exit code without the capability.
const NO_RIGHT: i32 = 2;

/// Checks whether raw frames can be sent on that interface, or on the only one with a link. An administrator's process
/// makes it possible. The helper reports all other errors.
pub(crate) fn main(interface: &str) -> Result<u8, Error> {
    let Some(helper) = helper::find()? else {
        tell(&format!(
            "{HELPER} is not there: `cargo build --release` makes it beside the launcher, and `pombo install`\n\
             takes it along. Without it UDP works."
        ));
        return Ok(1);
    };
    let look = || run(Command::new(&helper).arg("check").arg(interface));
    match look()? {
        0 => return Ok(done(&helper, interface)),
        NO_RIGHT => {}
        _ => return Ok(1),
    }
    // Only an administrator can set a capability.
    let given = run(Command::new("setcap")
        .arg(CAPABILITY)
        .arg(&helper)
        .stderr(Stdio::null()));
    if given.is_ok_and(|code| code == 0) && look()? == 0 {
        return Ok(done(&helper, interface));
    }
    tell(&proposal(&helper));
    Ok(1)
}

/// Returns how an administrator allows it, and what that permits.
fn proposal(helper: &Path) -> String {
    let helper = helper.display();
    format!(
        "raw Ethernet needs a right that programs of users do not have. An administrator gives it to a small\n\
         program, which opens sockets for others, and says who may run that program:\n  \
         sudo groupadd -f {GROUP} && sudo usermod -aG {GROUP} $USER # then log in again\n  \
         sudo chown root:{GROUP} {helper} && sudo chmod 0750 {helper}\n  \
         sudo setcap {CAPABILITY} {helper} # last: chown takes it away\n\
         A user who may run it can\n\
         - hear, by each socket, the frames of Pombo (EtherType 0x88b5) of one rank of one job, of any user's,\n  \
           and what is for all ranks of that job: a filter that cannot be changed passes nothing else;\n\
         - send any frame by any interface of this host, with any sender's address: the system has no such\n  \
           filter for what leaves.\n\
         If /etc/pombo/interfaces exists, it listens only at the interfaces that stand there. It must be on the\n\
         path of the ranks, or {VARIABLE} names it. Without all this UDP works."
    )
}

/// Returns a warning if everybody may run the helper, and so may capture frames.
fn warning(mode: u32, helper: &Path) -> Option<String> {
    let helper = helper.display();
    (mode & 0o001 != 0).then(|| {
        format!(
            "every user of this host may run {helper}, and so hear the frames of all jobs and send any:\n  \
             sudo chown root:{GROUP} {helper} && sudo chmod 0750 {helper} && sudo setcap {CAPABILITY} {helper}"
        )
    })
}

fn done(helper: &Path, interface: &str) -> u8 {
    let on = if interface.is_empty() { "" } else { " on " };
    tell(&format!("raw Ethernet works{on}{interface}"));
    // A helper without the capability gives no rights.
    if has_capability(helper)
        && let Ok(found) = helper.metadata()
        && let Some(warning) = warning(found.permissions().mode(), helper)
    {
        tell(&warning);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|place| place.join(HELPER).is_file());
    if !found && std::env::var_os(VARIABLE).is_none() {
        let helper = helper.display();
        tell(&format!("for ranks without the right: {VARIABLE}={helper}"));
    }
    0
}

fn has_capability(helper: &Path) -> bool {
    let said = Command::new("getcap").arg(helper).output();
    said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("cap_net_raw"))
}

/// Runs a command and returns its exit code, or -1 if a signal ended it.
fn run(command: &mut Command) -> Result<i32, Error> {
    let program = PathBuf::from(command.get_program());
    let ended = command.status().map_err(Error::file("run", program));
    ended.map(|status| status.code().unwrap_or(-1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_group_is_to_run_it() {
        let helper = Path::new("/opt/pombo/bin/pombo-ethernet");
        let said = proposal(helper);
        for what in [
            "chown root:pombo /opt/pombo/bin/pombo-ethernet",
            "chmod 0750 /opt/pombo/bin/pombo-ethernet",
            "setcap cap_net_raw+ep /opt/pombo/bin/pombo-ethernet",
            "any user's",
            "send any frame by any interface",
        ] {
            assert!(said.contains(what), "no {what}");
        }
        // A change of owner clears the capability.
        assert!(said.find("chown") < said.find("setcap"));
        assert_eq!(warning(0o100_750, helper), None);
        let warned = warning(0o100_755, helper).expect("others may");
        assert!(warned.contains("every user") && warned.contains("chmod 0750"));
    }
}
