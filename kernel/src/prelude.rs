//! The items that a first program needs: `use pombo_kernel::prelude::*;`.

pub use crate::header;
pub use crate::{
    Any, Communicator, Envelope, Error, Exact, Header, Lent, Pattern, Peer, Select, Ticket,
};
pub use zerocopy::little_endian::{U16, U32, U64};
