//! The bytes of an input, which decide what happens. Zeros follow when they are used up.

pub(crate) struct Feed<'a>(&'a [u8]);

impl<'a> Feed<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Feed(data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// Returns as many bytes as there are, at most `len`.
    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}
