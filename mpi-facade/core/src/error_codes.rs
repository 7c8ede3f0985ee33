//! Error classes, codes and texts that the program adds to those of MPI. Source: MPI 5.0, section 9.5. Their functions
//! may be called at any time, so the codes are no part of the world.

use crate::constants::{MPI_ERR_LASTCODE, MPI_MAX_ERROR_STRING};
use crate::errhandler::CommunicatorName;
use crate::error::{Class, CommError, Error, error_string};
use crate::runtime::pthread::Global;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};
use pombo_job::log::LogLine;

/// A class or a code of the program.
struct Added {
    /// The class of a code; of a class, itself.
    class: c_int,
    text: Vec<u8>,
}

/// What the program has added: a code is an index behind [`MPI_ERR_LASTCODE`]. Removed ones leave a gap, as the program
/// may have kept the number.
static ADDED: Global<Vec<Option<Added>>> = Global::new(Vec::new());

/// The value of the attribute `MPI_LASTUSEDCODE`.
static LAST_USED: AtomicI32 = AtomicI32::new(MPI_ERR_LASTCODE);

/// An error that the text of its class ends with.
struct Noted {
    error: Error,
    communicator: CommunicatorName,
}

/// The last errors of the two classes that are noted.
static NOTED: Global<[Option<Noted>; 2]> = Global::new([const { None }; 2]);

/// Notes an error of some kinds: the text of its class ends with it from now on, as a program that gets only the code
/// has no other way to find out. The sentence is made when the program asks for it.
pub(crate) fn note(failure: &CommError) {
    let error = failure.error;
    let class = match error {
        Error::Unsupported { .. } => 0,
        Error::Truncated { .. } | Error::Unequal { .. } => 1,
        _ => return,
    };
    let communicator = CommunicatorName::of(failure.comm);
    NOTED.with(|all| {
        all[class] = Some(Noted {
            error,
            communicator,
        });
    });
}

/// Returns the largest class or code of MPI and of the program.
pub(crate) fn last_used() -> &'static AtomicI32 {
    &LAST_USED
}

/// Adds a class, as `MPI_Add_error_class`.
pub fn add_class() -> c_int {
    ADDED.with(|added| add(added, None))
}

/// Adds a code of a class, as `MPI_Add_error_code`.
pub fn add_code(class: c_int) -> Result<c_int, Error> {
    ADDED.with(|added| match is_class(added, class) {
        true => Ok(add(added, Some(class))),
        false => Err(wrong(
            "errorclass",
            "a class of MPI or of MPI_Add_error_class",
        )),
    })
}

/// Sets the text of a class or a code of the program, as `MPI_Add_error_string`; a longer one is truncated.
pub fn set_text(code: c_int, text: &[u8]) -> Result<(), Error> {
    let len = text.len().min(MPI_MAX_ERROR_STRING as usize - 1);
    ADDED.with(|added| {
        find(added, code).ok_or(NOT_ADDED)?.text = text[..len].into();
        Ok(())
    })
}

/// Removes the text of a class or a code of the program, as `MPI_Remove_error_string`.
pub fn remove_text(code: c_int) -> Result<(), Error> {
    set_text(code, b"")
}

/// Removes a class of the program, as `MPI_Remove_error_class`: neither a code of it nor a text may be left.
pub fn remove_class(class: c_int) -> Result<(), Error> {
    ADDED.with(|added| {
        let found = find(added, class).is_some_and(|found| found.class == class);
        let codes = added
            .iter()
            .flatten()
            .filter(|it| it.class == class)
            .count();
        match (found, codes) {
            (false, _) => Err(NOT_ADDED),
            // It counts as its own code.
            (true, 1) => remove(added, class),
            (true, _) => Err(wrong(
                "errorclass",
                "a class whose codes were removed before",
            )),
        }
    })
}

/// Removes a code of the program, as `MPI_Remove_error_code`: it must not have a text any more.
pub fn remove_code(code: c_int) -> Result<(), Error> {
    ADDED.with(|added| {
        let found = find(added, code).is_some_and(|found| found.class != code);
        match found {
            true => remove(added, code),
            false => Err(NOT_ADDED),
        }
    })
}

/// Returns the class of a code, as `MPI_Error_class`.
pub fn class(code: c_int) -> Result<c_int, Error> {
    match Class::from_code(code) {
        Some(class) => Ok(class as c_int),
        None => ADDED.with(|added| Ok(find(added, code).ok_or(UNKNOWN)?.class)),
    }
}

/// Passes the text of a code on, as `MPI_Error_string`. A code of the program has none until it is added.
pub fn with_text<R>(code: c_int, take: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
    match error_string(code) {
        Some(text) => Ok(NOTED.with(|all| {
            let mut noted = all.iter().flatten();
            let noted = noted.find(|it| it.error.class() as c_int == code);
            let Some(Noted {
                error,
                communicator,
            }) = noted
            else {
                return take(text.as_bytes());
            };
            let mut line = LogLine::new();
            error.put_sentence(line.put(text).put(": "));
            communicator.put(&mut line);
            take(line.as_bytes())
        })),
        None => ADDED.with(|added| Ok(take(&find(added, code).ok_or(UNKNOWN)?.text))),
    }
}

/// The error for a code that nobody has defined.
const UNKNOWN: Error = wrong("errorcode", "a code that an MPI call returned");
const NOT_ADDED: Error = wrong("errorcode", "one that the program has added");

const fn wrong(name: &'static str, must: &'static str) -> Error {
    Error::Argument {
        class: Class::Arg,
        name,
        must,
    }
}

const FIRST: c_int = MPI_ERR_LASTCODE + 1;

fn add(added: &mut Vec<Option<Added>>, class: Option<c_int>) -> c_int {
    let code = FIRST + added.len() as c_int;
    let (class, text) = (class.unwrap_or(code), Vec::new());
    added.push(Some(Added { class, text }));
    LAST_USED.store(code, Ordering::Relaxed);
    code
}

fn find(added: &mut [Option<Added>], code: c_int) -> Option<&mut Added> {
    let index = usize::try_from(code.checked_sub(FIRST)?).ok()?;
    added.get_mut(index)?.as_mut()
}

fn remove(added: &mut [Option<Added>], code: c_int) -> Result<(), Error> {
    let index = usize::try_from(code - FIRST).map_err(|_| NOT_ADDED)?;
    let place = added.get_mut(index).ok_or(NOT_ADDED)?;
    if place.as_ref().is_some_and(|added| !added.text.is_empty()) {
        return Err(wrong("errorcode", "one whose text was removed before"));
    }
    *place = None;
    Ok(())
}

fn is_class(added: &mut [Option<Added>], class: c_int) -> bool {
    let own = find(added, class).is_some_and(|found| found.class == class);
    own || Class::from_code(class).is_some()
}
