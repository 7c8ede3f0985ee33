//! What the files of a program say about its use of MPI. `sources` and `objects` find it, `decision` reads it.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// Where something stands: a file or a member of an archive, and the line of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(super) file: Rc<str>,
    pub(super) line: Option<u32>,
}

impl Place {
    /// Returns a file as a whole.
    pub(super) fn of(file: &str) -> Place {
        Place {
            file: Rc::from(file),
            line: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name may have line ends and worse.
        write!(f, "{}", self.file.escape_debug())?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

/// What a name in a file means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    /// A function of MPI is called; the name is without the P of PMPI.
    Call,
    /// A datatype, an operation, a wildcard, MPI_COMM_SELF or MPI_IN_PLACE.
    Constant,
    /// Nobody can tell what the program uses; the name says why.
    Unknown,
}

/// A name, and where it stands first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) place: Place,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.name, self.place)
    }
}

/// All uses in all files, in the order of the files. There are at most as many as MPI and the program have names.
#[derive(Default, Debug)]
pub(crate) struct Facts {
    uses: Vec<Use>,
    seen: HashMap<(Kind, String), usize>,
    /// The first object whose constants nobody can know: it uses MPI, and its source is not among the files.
    pub(super) without_source: Option<Place>,
}

impl Facts {
    /// Adds a use; one that is known already keeps its place, unless the new one has a line and the old one has not.
    pub(super) fn add(&mut self, kind: Kind, name: impl Into<String>, place: Place) {
        let name = name.into();
        if let Some(&at) = self.seen.get(&(kind, name.clone())) {
            let known = &mut self.uses[at].place;
            if known.line.is_none() && place.line.is_some() {
                *known = place;
            }
            return;
        }
        self.seen.insert((kind, name.clone()), self.uses.len());
        self.uses.push(Use { kind, name, place });
    }

    /// Adds all that other files say.
    pub(super) fn extend(&mut self, other: Facts) {
        for Use { kind, name, place } in other.uses {
            self.add(kind, name, place);
        }
        self.without_source = self.without_source.take().or(other.without_source);
    }

    /// Returns the uses of a kind.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |found| found.kind == kind)
    }

    /// Returns whether no file uses MPI.
    pub(crate) fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }
}
