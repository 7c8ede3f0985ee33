//! One environment variable, and how this process reads it.

use super::values::Values;
use crate::bootstrap::JobError;
use crate::environment;
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
    pub fn text(&self) -> Option<&'static str> {
        environment::text(self.name)
    }

    /// Of those that are 0 or 1.
    pub fn is_on(&self) -> bool {
        self.text() == Some("1")
    }

    /// What it says, or its default, as `parse` understands that.
    pub fn read<T>(&self, parse: impl FnOnce(&'static str) -> Option<T>) -> Result<T, JobError> {
        parse(self.text().unwrap_or(self.default)).ok_or_else(|| self.wrong())
    }

    /// The number that it says, or its default.
    pub fn number(&self) -> Result<usize, JobError> {
        self.read(|text| text.parse().ok().filter(|_| (self.values.fits)(text)))
    }

    /// It says something else than it may.
    #[cold]
    #[inline(never)]
    pub fn wrong(&self) -> JobError {
        environment::wrong(self.name, self.values.must)
    }
}

/// `variables! { NAME: values, default text, "meaning"; .. }`: a table `VARIABLES` of [`Variable`]s, and a constant for
/// each. Once in a module.
#[doc(hidden)]
#[macro_export]
macro_rules! __variables {
    ($($name:ident: $values:expr, default $default:expr, $meaning:literal;)*) => {
        /// All of them, in the order in which a user reads them.
        pub static VARIABLES: &[$crate::settings::Variable] = &[$($crate::settings::Variable {
            name: $crate::settings::named(concat!("POMBO_", stringify!($name), "\0")),
            values: $values,
            default: $default,
            meaning: $meaning,
        }),*];

        /// Their places.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "as the variables are called")]
        enum Place { $($name),* }

        $(
            #[doc = concat!("`POMBO_", stringify!($name), "`: ", $meaning, ".")]
            pub const $name: &$crate::settings::Variable = &VARIABLES[Place::$name as usize];
        )*
    };
}
#[doc(inline)]
pub use __variables as variables;

/// The name that stands before the zero; without one it does not compile.
pub const fn named(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a zero at the end"),
    }
}
