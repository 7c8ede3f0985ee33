//! What the system tells in /proc.

use std::fmt::Display;
use std::str::FromStr;

/// Returns the name of this host; empty if the system does not tell it.
pub(crate) fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Returns a field of a process's `stat`, by its number in proc(5), from 3 on; `None` if there is no such process.
pub(crate) fn stat_field<T: FromStr>(process: impl Display, number: usize) -> Option<T> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name before the last bracket may hold any character; field 3 follows.
    let (_, fields) = stat.rsplit_once(')')?;
    let field = fields.split_whitespace().nth(number.checked_sub(3)?)?;
    field.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_its_parent() {
        let parent = stat_field::<u32>(std::process::id(), 4);
        assert_eq!(parent, Some(std::os::unix::process::parent_id()));
        assert_eq!(stat_field::<u32>("none", 4), None);
    }
}
