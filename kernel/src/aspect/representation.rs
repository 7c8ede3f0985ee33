//! How values cross machines of different byte order. Source: ECCLib's translation layer and the EPOS thesis's typed
//! envelopes.
//!
//! On their way basic types have one width everywhere ([`Element`](super::Element); words have 64 bits, and a machine
//! with narrower ones converts as it copies, [`Narrow`](super::Narrow)), so byte order is all that a peer has to tell.

/// The policy family.
pub trait Representation: 'static {
    /// Is anything ever converted?
    const CONVERTS: bool;
    /// Does the sender convert to the external form?
    const CANONICAL: bool;
    /// The byte order of this machine's values: true for the most significant byte first.
    const BIG_ENDIAN: bool;
}

/// A byte order, as a type.
pub trait Order: 'static {
    /// Most significant byte first?
    const BIG_ENDIAN: bool;
}

/// The order of the machine that runs this.
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// The other order: what a test takes for a machine of another kind.
#[derive(Clone, Copy, Debug)]
pub struct Opposite;

impl Order for Native {
    const BIG_ENDIAN: bool = cfg!(target_endian = "big");
}

impl Order for Opposite {
    const BIG_ENDIAN: bool = !Native::BIG_ENDIAN;
}

/// All machines are alike: nothing is converted, nothing is said.
#[derive(Clone, Copy, Debug)]
pub struct Homogeneous;

/// Receiver makes right: a sender says its order once to every peer, a receiver converts only when it differs.
#[derive(Clone, Copy, Debug)]
pub struct Heterogeneous<O = Native>(core::marker::PhantomData<O>);

/// Values travel most significant byte first; whoever differs from that converts.
#[derive(Clone, Copy, Debug)]
pub struct Canonical<O = Native>(core::marker::PhantomData<O>);

impl Representation for Homogeneous {
    const CONVERTS: bool = false;
    const CANONICAL: bool = false;
    const BIG_ENDIAN: bool = Native::BIG_ENDIAN;
}

impl<O: Order> Representation for Heterogeneous<O> {
    const CONVERTS: bool = true;
    const CANONICAL: bool = false;
    const BIG_ENDIAN: bool = O::BIG_ENDIAN;
}

impl<O: Order> Representation for Canonical<O> {
    const CONVERTS: bool = true;
    const CANONICAL: bool = true;
    const BIG_ENDIAN: bool = O::BIG_ENDIAN;
}
