//! Environment variables, read while nobody changes them, and random numbers.

use crate::bootstrap::JobError;
#[cfg(feature = "launchers")]
use crate::settings::Values;
use crate::settings::{Variable, whole as number_in};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char};
use rustix::rand::{GetRandomFlags, getrandom};

/// Reads a variable that holds a number.
#[cfg(feature = "launchers")]
pub(crate) fn number(name: &'static CStr) -> Result<Option<usize>, Box<JobError>> {
    whole(name).map_err(|NotANumber| wrong(name, Values::NUMBER.must))
}

/// The value of a variable that is to hold a number is none.
pub(crate) struct NotANumber;

/// Reads a variable that holds a number, whatever is to be said of one that does not.
pub(crate) fn whole(name: &CStr) -> Result<Option<usize>, NotANumber> {
    let Some(value) = variable(name) else {
        return Ok(None);
    };
    number_in(value.to_bytes()).map(Some).ok_or(NotANumber)
}

/// Reads a variable that holds text. A process calls it as it joins a job: later threads of its program may change the
/// environment, and [`EnvironmentCopy`] has what was there.
pub fn text(name: &CStr) -> Option<&'static str> {
    variable(name)?.to_str().ok()
}

/// Reads a variable as a C string: see [`text`].
pub fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero.
    let value: *const c_char = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, so a string of the environment, which nobody changes while this process joins a job.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// A copy of the variables `POMBO_*`, made when the process joins a job: while it is in the job, the threads of its program
/// may change the environment, so nothing else is read then.
pub struct EnvironmentCopy(Vec<u8>);

impl EnvironmentCopy {
    /// Copies the variables of now.
    pub fn of_now() -> Self {
        let mut copy = Vec::new();
        for line in lines().map(CStr::to_bytes_with_nul) {
            if line.starts_with(b"POMBO_") {
                copy.extend_from_slice(line);
            }
        }
        EnvironmentCopy(copy)
    }

    /// Returns the value of a variable that was set.
    pub fn get(&self, name: &CStr) -> Option<&CStr> {
        let mut lines = self.0.split_inclusive(|byte| *byte == 0);
        let value = lines.find_map(|line| {
            let rest = line.strip_prefix(name.to_bytes())?;
            rest.strip_prefix(b"=")
        })?;
        CStr::from_bytes_with_nul(value).ok()
    }

    /// Returns the value of a variable that was set, if it is valid UTF-8.
    pub fn text(&self, name: &CStr) -> Option<&str> {
        self.get(name)?.to_str().ok()
    }

    /// Returns whether a variable of the values 0 and 1 is 1.
    pub fn is_on(&self, variable: &Variable) -> bool {
        self.text(variable.name).unwrap_or(variable.default) == "1"
    }

    /// Returns the number in the value, or in the default; 0 where the value is invalid.
    pub fn number(&self, variable: &Variable) -> usize {
        variable.number_in(self.get(variable.name)).unwrap_or(0)
    }
}

/// Iterates over names and values of this process's environment; entries without a name, or whose name is not UTF-8,
/// are skipped.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static CStr)> {
    lines().filter_map(|line| {
        let bytes = line.to_bytes_with_nul();
        let at = bytes.iter().position(|byte| *byte == b'=')?;
        let name = core::str::from_utf8(bytes.get(..at)?).ok()?;
        let value = CStr::from_bytes_with_nul(bytes.get(at + 1..)?).ok()?;
        Some((name, value))
    })
}

/// Iterates over the entries of this process's environment.
fn lines() -> impl Iterator<Item = &'static CStr> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: nobody changes the environment while the process starts; the list may be null.
    let mut entry = unsafe { environ };
    core::iter::from_fn(move || {
        // SAFETY: the list ends with a null pointer, behind which nothing is read.
        let line = unsafe { entry.as_ref() }.filter(|line| !line.is_null())?;
        // SAFETY: there is another entry behind one that is not null.
        entry = unsafe { entry.add(1) };
        // SAFETY: every entry is a string of C that stays where it is while the process starts.
        Some(unsafe { CStr::from_ptr(*line) })
    })
}

/// Returns the error of a variable with an invalid value.
pub(crate) fn wrong(name: &'static CStr, must: &'static str) -> Box<JobError> {
    JobError::variable(name, must, variable(name))
}

/// Returns unpredictable bytes; at most 256.
///
/// # Errors
/// [`JobError::System`] if the system has none.
pub fn random<const N: usize>() -> Result<[u8; N], Box<JobError>> {
    let mut bytes = [0; N];
    let got = getrandom(&mut bytes, GetRandomFlags::empty());
    // The call returns so few bytes at once or fails.
    got.map(|_| bytes)
        .map_err(JobError::failed("get random numbers"))
}
