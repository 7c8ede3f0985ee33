//! The CPU quota of the control group, in both versions of Linux' interface. `shm` uses it.
//!
//! Groups nest, and each may have a limit: the smallest counts. Inside a container the own group may be mounted as the
//! root, so any suffix of the group's path may not exist; a missing file is no limit.

use core::ffi::CStr;
use pombo_kernel::text::parse_digits;

/// Reads a small file into the buffer; `None` if it is not there.
pub(crate) trait FileReader {
    fn read<'a>(&mut self, path: &CStr, into: &'a mut [u8]) -> Option<&'a [u8]>;
}

/// The mount points of the CPU controller: its own hierarchy (version 1), or that of all controllers (version 2).
const V1_MOUNTS: [&[u8]; 2] = [b"/sys/fs/cgroup/cpu", b"/sys/fs/cgroup/cpu,cpuacct"];
const V2_MOUNT: &[u8] = b"/sys/fs/cgroup";

/// Bound in bytes of `/proc/self/cgroup`, which has a line for each of a dozen controllers.
const MAX_BYTES: usize = 4096;

/// Returns the number of whole processors that may be used all the time, at least 1; `None` without a limit.
pub(crate) fn processors(files: &mut impl FileReader) -> Option<u32> {
    let mut buffer = [0; MAX_BYTES];
    let groups = files.read(c"/proc/self/cgroup", &mut buffer)?;
    let mut least = None;
    for line in groups.split(|byte| *byte == b'\n') {
        let mut fields = line.splitn(3, |byte| *byte == b':');
        let (_, Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if controllers.is_empty() {
            walk_up(files, V2_MOUNT, group, v2_limit, &mut least);
        } else if controllers
            .split(|byte| *byte == b',')
            .any(|name| name == b"cpu")
        {
            V1_MOUNTS
                .iter()
                .for_each(|mount| walk_up(files, mount, group, v1_limit, &mut least));
        }
    }
    least
}

/// Reads the limits of the group and of all its ancestors.
fn walk_up<F: FileReader>(
    files: &mut F,
    mount: &[u8],
    group: &[u8],
    limit: fn(&mut F, &[u8], &[u8]) -> Option<u32>,
    least: &mut Option<u32>,
) {
    let mut group = group.strip_suffix(b"/").unwrap_or(group);
    loop {
        if let Some(found) = limit(files, mount, group) {
            *least = Some(least.map_or(found, |least| least.min(found)));
        }
        match group.iter().rposition(|byte| *byte == b'/') {
            Some(end) => group = &group[..end],
            None => return,
        }
    }
}

/// Reads the limit of version 2, "QUOTA PERIOD", where the quota may be "max".
fn v2_limit(files: &mut impl FileReader, mount: &[u8], group: &[u8]) -> Option<u32> {
    let mut buffer = [0; 64];
    let text = read(files, &[mount, group, b"/cpu.max"], &mut buffer)?;
    let mut words = text.split(u8::is_ascii_whitespace);
    whole(number(words.next()?)?, number(words.next()?)?)
}

/// Reads the limit of version 1 from two files; a quota of -1 is no limit.
fn v1_limit(files: &mut impl FileReader, mount: &[u8], group: &[u8]) -> Option<u32> {
    let mut buffer = [0; 64];
    let quota = read(files, &[mount, group, b"/cpu.cfs_quota_us"], &mut buffer)?;
    let quota = number(quota.trim_ascii())?;
    let period = read(files, &[mount, group, b"/cpu.cfs_period_us"], &mut buffer)?;
    whole(quota, number(period.trim_ascii())?)
}

fn whole(quota: u64, period: u64) -> Option<u32> {
    let processors = quota.checked_div(period)?;
    Some(u32::try_from(processors).unwrap_or(u32::MAX).max(1))
}

fn number(text: &[u8]) -> Option<u64> {
    parse_digits(text, 10)
}

/// Reads the file whose path is the concatenation of the parts.
fn read<'a>(files: &mut impl FileReader, parts: &[&[u8]], into: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut path = [0; 512];
    let mut end = 0;
    for part in parts {
        // A path that does not fit leaves no room for its terminating zero.
        let place = path.get_mut(end..end + part.len())?;
        place.copy_from_slice(part);
        end += part.len();
    }
    files.read(CStr::from_bytes_with_nul(path.get(..=end)?).ok()?, into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std::{collections::BTreeMap, string::String};

    struct Fake(BTreeMap<&'static str, &'static str>);

    impl FileReader for Fake {
        fn read<'a>(&mut self, path: &CStr, into: &'a mut [u8]) -> Option<&'a [u8]> {
            let text = self.0.get(path.to_str().expect("a path in ASCII"))?;
            let place = &mut into[..text.len()];
            place.copy_from_slice(text.as_bytes());
            Some(place)
        }
    }

    fn found<const N: usize>(files: [(&'static str, &'static str); N]) -> Option<u32> {
        processors(&mut Fake(files.into()))
    }

    #[test]
    fn the_smallest_limit_on_the_way_up_counts() {
        let group = ("/proc/self/cgroup", "0::/a/b/c\n");
        let deep = ("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
        let middle = ("/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
        let high = ("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
        assert_eq!(found([group, deep, middle, high]), Some(2));
        assert_eq!(found([group, deep, high]), Some(8));
        assert_eq!(found([group, high]), None);
        assert_eq!(found([group]), None);
        assert_eq!(found([]), None);
    }

    #[test]
    fn a_container_sees_its_group_as_the_root() {
        let file = ("/sys/fs/cgroup/cpu.max", "50000 100000\n");
        for group in ["0::/\n", "0::/system.slice/not-mounted-here\n"] {
            assert_eq!(found([("/proc/self/cgroup", group), file]), Some(1));
        }
    }

    #[test]
    fn the_first_version_has_its_own_hierarchy() {
        let group = (
            "/proc/self/cgroup",
            "5:cpuset:/x\n4:cpu,cpuacct:/jobs/7\n0::/\n",
        );
        let period = (
            "/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_period_us",
            "100000\n",
        );
        let path = "/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us";
        assert_eq!(found([group, period, (path, "300000\n")]), Some(3));
        assert_eq!(found([group, period, (path, "-1\n")]), None);
    }

    #[test]
    fn nonsense_is_no_limit() {
        let group = ("/proc/self/cgroup", "0::/a\n::\nrubbish\n\n0::");
        for text in ["", "5", "5 0", "five six", "max", "-3 100", "\n"] {
            let file = ("/sys/fs/cgroup/a/cpu.max", text);
            assert_eq!(found([group, file]), None, "{text:?}");
        }
        let endless: &'static str = String::leak("0::/".repeat(300));
        assert_eq!(found([("/proc/self/cgroup", endless)]), None);
    }
}
