//! The hosts that the user names: how many ranks each takes, and whether they are more than this one. `run` asks it
//! before it chooses who starts the ranks.

use std::fs;

use super::arguments::{Hosts, Request};
use crate::error::Error;
use crate::procfs::hostname;

/// A host with the number of its ranks.
type Host = (String, usize);

/// Checks the hosts of a job. Takes them away if all are this one, for which no other launcher is needed; puts them into
/// the form that Hydra reads; and counts the ranks if the user has not.
pub(super) fn resolve(request: &mut Request) -> Result<(), Error> {
    let Some(named) = &request.hosts else {
        return Ok(());
    };
    let (hosts, is_translated) = match named {
        Hosts::List(list) => (of_list(&list.to_string_lossy())?, false),
        Hosts::File(_) => of_file(named)?,
    };
    if let ([context], false) = (request.contexts.as_mut_slice(), request.is_counted) {
        let slots = hosts.iter().map(|(_, ranks)| *ranks);
        let slots = slots.fold(0, usize::saturating_add);
        let most = request
            .per_host
            .map(|most| most.saturating_mul(hosts.len()));
        context.ranks = most.unwrap_or(slots);
    }
    if is_only_here(&hosts) {
        request.hosts = None;
    } else if is_translated {
        let words = hosts.iter().map(|(name, ranks)| format!("{name}:{ranks}"));
        let list = words.collect::<Vec<_>>().join(",");
        request.hosts = Some(Hosts::List(list.into()));
    }
    Ok(())
}

/// Returns the names of a job's hosts in their order, in which Hydra numbers them; none if they cannot be read.
pub(super) fn names(named: &Hosts) -> Vec<String> {
    let hosts = match named {
        Hosts::List(list) => of_list(&list.to_string_lossy()).unwrap_or_default(),
        Hosts::File(_) => of_file(named).map_or(Vec::new(), |(hosts, _)| hosts),
    };
    hosts.into_iter().map(|(name, _)| name).collect()
}

fn is_only_here(hosts: &[Host]) -> bool {
    let own = hostname();
    let is_here = |name: &str| ["localhost", "127.0.0.1", &own].contains(&name);
    hosts.iter().all(|(name, _)| is_here(name))
}

fn of_list(list: &str) -> Result<Vec<Host>, Error> {
    let hosts: Option<Vec<Host>> = list.split(',').map(host).collect();
    hosts.ok_or_else(|| Error::Value {
        what: "--host",
        given: list.to_owned(),
        want: "names with commas between them, each with :N behind it for N ranks if need be",
    })
}

/// Reads a file of hosts. Returns whether it is one of Open MPI, which Hydra would not understand: Hydra prints several
/// lines for a missing file, nothing for one without hosts, and fails at an invalid number of ranks.
fn of_file(named: &Hosts) -> Result<(Vec<Host>, bool), Error> {
    let Hosts::File(path) = named else {
        return Ok((Vec::new(), false));
    };
    let text = fs::read_to_string(path).map_err(Error::file("read hostfile", path))?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong = |line: Option<&str>| Error::HostFile {
        path: path.clone(),
        line: line.map(str::to_owned),
    };
    let mut hosts = Vec::new();
    let mut is_translated = false;
    for line in lines {
        let (host, has_slots) = host_of_line(line).ok_or_else(|| wrong(Some(line)))?;
        hosts.push(host);
        is_translated |= has_slots;
    }
    match hosts.is_empty() {
        true => Err(wrong(None)),
        false => Ok((hosts, is_translated)),
    }
}

/// Parses a line: a host and fields that Hydra knows, or the number of ranks as Open MPI has it. Returns whether it is
/// of the second kind.
fn host_of_line(line: &str) -> Option<(Host, bool)> {
    let mut words = line.split_whitespace();
    let mut named = host(words.next()?)?;
    let mut has_slots = false;
    for word in words {
        if let Some(ranks) = word.strip_prefix("slots=") {
            named.1 = ranks.parse().ok().filter(|ranks| *ranks > 0)?;
            has_slots = true;
        }
        // How many more the user allows is for a scheduler.
        has_slots |= ["max_slots=", "max-slots="]
            .iter()
            .any(|name| word.starts_with(name));
    }
    Some((named, has_slots))
}

/// Parses a host name with an optional number of ranks.
fn host(word: &str) -> Option<Host> {
    let (name, ranks) = word.split_once(':').unwrap_or((word, "1"));
    let ranks = ranks.parse().ok().filter(|ranks| *ranks > 0)?;
    (!name.is_empty()).then(|| (name.to_owned(), ranks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_hostfile() {
        let of = |line| host_of_line(line).map(|((name, ranks), slots)| (name, ranks, slots));
        let one = |ranks, slots| Some(("one".to_owned(), ranks, slots));
        assert_eq!(of("one"), one(1, false));
        assert_eq!(of("one:2 ifname=eth0"), one(2, false));
        assert_eq!(of("one slots=2"), one(2, true));
        assert_eq!(of("one slots=2 max_slots=4"), one(2, true));
        for wrong in [":2", "one:x", "one:0", "one slots=x", "one slots=0"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ranks_are_counted_where_the_user_has_not() {
        let resolved = |line: &str| {
            let words: Vec<_> = line.split(' ').map(Into::into).collect();
            let mut request = super::super::arguments::parse("mpirun", &words).unwrap();
            resolve(&mut request).unwrap();
            let ranks: Vec<_> = request
                .contexts
                .iter()
                .map(|context| context.ranks)
                .collect();
            (ranks, request.hosts.is_some())
        };
        assert_eq!(resolved("-H a:2,b:3 p"), (vec![5], true));
        assert_eq!(resolved("-H a,b -N 4 p"), (vec![8], true));
        assert_eq!(resolved("-H a:2,b:3 -n 4 p"), (vec![4], true));
        assert_eq!(resolved("-H localhost:3 p"), (vec![3], false));
        assert_eq!(resolved("-H a:2 p : q"), (vec![1, 1], true));
    }
}
