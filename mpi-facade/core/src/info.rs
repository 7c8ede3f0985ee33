//! Info objects: keys and values. Source: MPI 5.0, chapter 10. Their functions may be called at any time, also before
//! `MPI_Init` and by several threads, so info objects are no part of the world.

pub(crate) mod list;

use crate::collective::algorithm::is_hint;
use crate::constants::*;
use crate::error::{Class, Error, Kind};
use crate::handle_table::HandleTable;
use crate::runtime::phase::{self, Phase, phase};
use crate::runtime::pthread::Global;
use alloc::vec::Vec;
use core::ffi::c_int;
use list::InfoList;
use pombo_job::Text;
use pombo_job::environment::EnvironmentCopy;
use pombo_job::process::with_command_line;
pub use pombo_job::process::with_host_name;

/// The info objects of this process.
struct Infos {
    table: HandleTable<InfoList>,
    /// What is known about the start of this process: `MPI_INFO_ENV`.
    environment: InfoList,
}

static INFOS: Global<Option<Infos>> = Global::new(None);

/// Runs a function on the info objects.
fn with<R>(call: impl FnOnce(&mut Infos) -> R) -> R {
    INFOS.with(|infos| {
        let infos = infos.get_or_insert_with(|| Infos {
            table: HandleTable::default(),
            environment: InfoList::default(),
        });
        add_facts(&mut infos.environment);
        call(infos)
    })
}

/// Adds what has become known about the start of this process since the last call; former values stay.
fn add_facts(environment: &mut InfoList) {
    let mut add = |key: &str, value: &[u8]| {
        if environment.get(key.as_bytes()).is_none() && (1..MAX_VALUE).contains(&value.len()) {
            environment.set(key.as_bytes(), value);
        }
    };
    with_host_name(|host| add("host", host));
    // Both are known from `MPI_Init` on.
    if phase() != Phase::Before {
        let ranks = phase::ranks() as i64;
        add("maxprocs", Text::<20>::new().put_number(ranks).as_bytes());
        add("thread_level", phase::level().as_bytes());
    }
    with_command_line(|line| {
        let line = line.strip_suffix(&[0]).unwrap_or(line);
        let (command, rest) = command_line(line.split(|byte| *byte == 0));
        add("command", &command);
        add("argv", &rest);
    });
}

/// Runs a function on the info object of a handle.
pub(crate) fn read<R>(info: Info, call: impl FnOnce(&InfoList) -> R) -> Result<R, Error> {
    with(|infos| match info {
        MPI_INFO_ENV => Ok(call(&infos.environment)),
        _ => infos.table.get(info.0).map(call).ok_or(unknown(info)),
    })
}

/// Runs a function that changes the info object of a handle.
fn change<R>(info: Info, call: impl FnOnce(&mut InfoList) -> R) -> Result<R, Error> {
    with(|infos| infos.table.get_mut(info.0).map(call).ok_or(unknown(info)))
}

const fn unknown(info: Info) -> Error {
    Error::Handle {
        kind: Kind::Info,
        got: info.0,
    }
}

/// Creates an info object without keys, as `MPI_Info_create`.
pub fn create() -> Info {
    insert(InfoList::default())
}

/// Adds an info object.
pub(crate) fn insert(list: InfoList) -> Info {
    with(|infos| Info(infos.table.insert(list)))
}

/// Creates an info object with the same keys, as `MPI_Info_dup`.
pub fn duplicate(info: Info) -> Result<Info, Error> {
    Ok(insert(read(info, InfoList::clone)?))
}

/// Frees an info object, as `MPI_Info_free`.
pub fn free(info: Info) -> Result<(), Error> {
    with(|infos| infos.table.remove(info.0).map(drop).ok_or(unknown(info)))
}

/// Sets a key, as `MPI_Info_set`.
pub fn set(info: Info, key: &[u8], value: &[u8]) -> Result<(), Error> {
    check_key(key)?;
    if value.len() >= MAX_VALUE {
        return Err(Error::Argument {
            class: Class::InfoValue,
            name: "value",
            must: "shorter than MPI_MAX_INFO_VAL",
        });
    }
    change(info, |list| list.set(key, value))
}

/// Deletes a key, as `MPI_Info_delete`.
pub fn delete(info: Info, key: &[u8]) -> Result<(), Error> {
    check_key(key)?;
    match change(info, |list| list.remove(key))? {
        true => Ok(()),
        false => Err(Error::Argument {
            class: Class::InfoNokey,
            name: "key",
            must: "a key that the info object has",
        }),
    }
}

/// Returns the value of a key, as `MPI_Info_get_string`; `None` if the key is not there. `MPI_INFO_NULL` has no keys
/// where it is an optional argument of another call.
pub fn value(info: Info, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    check_key(key)?;
    read(info, |list| list.get(key).map(Into::into))
}

/// Returns the number of keys, as `MPI_Info_get_nkeys`.
pub fn keys(info: Info) -> Result<c_int, Error> {
    read(info, |list| list.len() as c_int)
}

/// Returns the key at a position, as `MPI_Info_get_nthkey`.
pub fn nth_key(info: Info, position: c_int) -> Result<Vec<u8>, Error> {
    let wrong = Error::Argument {
        class: Class::Arg,
        name: "n",
        must: "at least 0 and less than the number of keys",
    };
    let found = read(info, |list| {
        let position = usize::try_from(position).ok()?;
        list.key(position).map(Into::into)
    });
    found?.ok_or(wrong)
}

/// Returns the value of a key in an optional argument: `MPI_INFO_NULL` has none.
pub(crate) fn get(info: Info, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    match info {
        MPI_INFO_NULL => Ok(None),
        _ => read(info, |list| list.get(key).map(Into::into)),
    }
}

/// The hints that MPI defines for communicators (MPI 5.0, section 7.4.4). Each is true or false.
const COMM_HINTS: [&[u8]; 5] = [
    b"mpi_assert_no_any_tag",
    b"mpi_assert_no_any_source",
    b"mpi_assert_exact_length",
    b"mpi_assert_allow_overtaking",
    b"mpi_assert_strict_persistent_collective_ordering",
];

/// Returns those keys of an optional argument that are hints for a communicator; others are ignored.
pub(crate) fn hints(info: Info, environment: &EnvironmentCopy) -> Result<InfoList, Error> {
    let mut hints = InfoList::default();
    if info != MPI_INFO_NULL {
        read(info, |list| {
            let known = |&(key, value): &(&[u8], &[u8])| {
                COMM_HINTS.contains(&key) && [&b"true"[..], b"false"].contains(&value)
                    || is_hint(key, value, environment)
            };
            for (key, value) in list.iter().filter(known) {
                hints.set(key, value);
            }
        })?;
    }
    Ok(hints)
}

/// Sets the command that started this process and its arguments.
pub fn set_command<'a>(info: Info, arguments: impl Iterator<Item = &'a [u8]>) -> Result<(), Error> {
    let (command, rest) = command_line(arguments);
    change(info, |list| {
        for (key, value) in [(&b"command"[..], command), (b"argv", rest)] {
            if (1..MAX_VALUE).contains(&value.len()) {
                list.set(key, &value);
            }
        }
    })
}

/// Returns the first of the arguments of `main`, and the others with spaces between them.
fn command_line<'a>(mut arguments: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<u8>) {
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<&[u8]> = arguments.collect();
    (command.into(), rest.join(&b' '))
}

fn check_key(key: &[u8]) -> Result<(), Error> {
    match key.len() {
        1..MAX_KEY => Ok(()),
        _ => Err(Error::Argument {
            class: Class::InfoKey,
            name: "key",
            must: "not empty, and shorter than MPI_MAX_INFO_KEY",
        }),
    }
}

const MAX_KEY: usize = MPI_MAX_INFO_KEY as usize;
const MAX_VALUE: usize = MPI_MAX_INFO_VAL as usize;
