//! What a program prints, without the formatting of `core`, which takes more room than the programs.

use pombo_kernel::Error;

/// A sink of text: a console, the standard output.
pub struct Report<'a>(pub &'a mut dyn FnMut(&[u8]));

impl Report<'_> {
    /// Prints a text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        (self.0)(text.as_bytes());
        self
    }

    /// Prints a number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        let (mut digits, mut rest, mut len) = ([b'0'; 20], number, 0);
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            (rest, len) = (rest / 10, len + 1);
            if rest == 0 {
                break;
            }
        }
        (self.0)(digits.get(20 - len..).unwrap_or_default());
        self
    }
}

/// Why a program ended early.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// The communicator's error.
    Kernel(Error),
    /// What did not come out as it should.
    Wrong(&'static str),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Kernel(error)
    }
}

#[cfg(feature = "programs")]
impl From<pombo_basic::Error> for Failure {
    fn from(error: pombo_basic::Error) -> Self {
        use pombo_basic::Error;
        Failure::Wrong(match error {
            Error::NoSuchRank => "MPI: there is no such rank",
            Error::NoMemory => "MPI_Reduce: there is too little memory",
            Error::Truncated => "MPI: a message was truncated",
            Error::TooLong => "MPI: a message is too long",
            Error::Full => "MPI: too many requests are under way",
            _ => "MPI: the channel failed, or a rank is gone",
        })
    }
}

impl Failure {
    /// Names the failure.
    pub fn name(&self) -> &'static str {
        match self {
            Failure::Wrong(what) => what,
            Failure::Kernel(Error::Full) => "the table of operations is full",
            Failure::Kernel(Error::NoCredit(_)) => "the peer's pool is full",
            Failure::Kernel(Error::TooLong { .. }) => "a message is too long",
            Failure::Kernel(Error::Truncated { .. }) => "a message was truncated",
            Failure::Kernel(Error::TooManyPeers { .. }) => "there are too many peers",
            Failure::Kernel(Error::Channel(_)) => "the channel failed",
            Failure::Kernel(_) => "the communicator refused",
        }
    }
}
