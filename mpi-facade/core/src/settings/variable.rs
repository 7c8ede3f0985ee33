//! One environment variable, and how this process reads it.

use super::values::Values;
use crate::environment;
use crate::place::PlaceError;
use core::ffi::CStr;

/// One variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name, with the prefix `POMBO_`.
    pub name: &'static CStr,
    /// What it may say.
    pub values: Values,
    /// What holds where it is not set, if anything does: a value, or words where there is none that could be given.
    pub default: &'static str,
    /// Who sets it and what it means.
    pub meaning: &'static str,
}

impl Variable {
    /// Its name as text.
    pub const fn name(&self) -> &'static str {
        match self.name.to_str() {
            Ok(name) => name,
            Err(_) => "",
        }
    }

    /// What it says in this process, if it is set and text.
    pub(crate) fn text(&self) -> Option<&'static str> {
        environment::text(self.name)
    }

    /// Of those that are 0 or 1.
    #[cfg(any(feature = "hosts", feature = "progress-thread"))]
    pub(crate) fn is_on(&self) -> bool {
        self.text() == Some("1")
    }

    /// What it says, or its default, as `parse` understands that.
    pub(crate) fn read<T>(
        &self,
        parse: impl FnOnce(&'static str) -> Option<T>,
    ) -> Result<T, PlaceError> {
        parse(self.text().unwrap_or(self.default)).ok_or_else(|| self.wrong())
    }

    /// The number that it says, or its default.
    pub(crate) fn number(&self) -> Result<usize, PlaceError> {
        self.read(|text| text.parse().ok().filter(|_| (self.values.fits)(text)))
    }

    /// It says something else than it may.
    #[cold]
    #[inline(never)]
    pub(crate) fn wrong(&self) -> PlaceError {
        environment::wrong(self.name, self.values.must)
    }
}

/// The name that stands before the zero; without one it does not compile.
pub(super) const fn named(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a zero at the end"),
    }
}
