//! One environment variable, and its value in this process.

use super::values::{Values, whole};
use crate::bootstrap::JobError;
use crate::environment;
use alloc::boxed::Box;
use core::ffi::CStr;

/// An environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name, with the prefix `POMBO_`.
    pub name: &'static CStr,
    /// Its valid values.
    pub values: Values,
    /// The default: a value, or a description where no value could be given.
    pub default: &'static str,
}

impl Variable {
    /// Returns the name as text.
    pub const fn name(&self) -> &'static str {
        match self.name.to_str() {
            Ok(name) => name,
            Err(_) => "",
        }
    }

    /// Returns the value in this process if it is set and valid UTF-8.
    pub fn text(&self) -> Option<&'static str> {
        environment::text(self.name)
    }

    /// Returns whether a variable of the values 0 and 1 is 1.
    pub fn is_on(&self) -> bool {
        self.text().unwrap_or(self.default) == "1"
    }

    /// Returns the same of a variable that nobody has checked before.
    ///
    /// # Errors
    /// [`JobError::Variable`]: it is neither.
    pub fn switch(&self) -> Result<bool, Box<JobError>> {
        self.read(|text| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    /// Parses the value, or its default.
    pub fn read<T>(
        &self,
        parse: impl FnOnce(&'static str) -> Option<T>,
    ) -> Result<T, Box<JobError>> {
        parse(self.text().unwrap_or(self.default)).ok_or_else(|| self.wrong())
    }

    /// Returns the number in the value, or its default.
    pub fn number(&self) -> Result<usize, Box<JobError>> {
        let value = environment::variable(self.name);
        self.number_in(value).ok_or_else(|| self.wrong())
    }

    /// Returns the number in that value, or in the default if there is none.
    pub(crate) fn number_in(&self, value: Option<&CStr>) -> Option<usize> {
        let (least, most) = self.values.range;
        whole(value.map_or(self.default.as_bytes(), CStr::to_bytes))
            .filter(|number| (least..=most).contains(number))
    }

    /// Returns the error of an invalid value.
    #[cold]
    #[inline(never)]
    pub fn wrong(&self) -> Box<JobError> {
        self.must_be(self.values.must)
    }

    /// Returns the error of a value that a program refuses.
    #[cold]
    #[inline(never)]
    pub fn must_be(&self, must: &'static str) -> Box<JobError> {
        environment::wrong(self.name, must)
    }
}

/// `variables! { NAME: values, default text, "meaning"; .. }`: a table `VARIABLES` of [`Variable`]s, a table `MEANINGS` for
/// those who explain them, and a constant for each variable. Use it once per module.
#[doc(hidden)]
#[macro_export]
macro_rules! __variables {
    ($($name:ident: $values:expr, default $default:expr, $meaning:literal;)*) => {
        /// All variables, in the order of the documentation.
        pub static VARIABLES: &[&$crate::settings::Variable] = &[$($name),*];

        /// Who sets each of [`VARIABLES`] and what it means, in their order.
        pub static MEANINGS: &[&str] = &[$($meaning),*];

        // Each has a place of its own: whoever reads one does not need the table.
        $(
            #[doc = concat!("`POMBO_", stringify!($name), "`: ", $meaning, ".")]
            pub const $name: &$crate::settings::Variable = &$crate::settings::Variable {
                name: $crate::settings::named(concat!("POMBO_", stringify!($name), "\0")),
                values: $values,
                default: $default,
            };
        )*
    };
}
#[doc(inline)]
pub use __variables as variables;

/// Converts a name that ends with a zero byte; without one it does not compile.
pub const fn named(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a zero at the end"),
    }
}
