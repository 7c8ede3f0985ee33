//! Conversion of values between machines of different byte order. Source: ECCLib's translation layer and the EPOS
//! thesis's typed envelopes.
//!
//! On the wire each basic type has one width ([`Element`](super::Element); words have 64 bits, and a machine with
//! narrower words converts as it copies, [`Narrow`](super::Narrow)), so a peer has to declare only its byte order.

/// The policy family.
pub trait Representation: 'static {
    /// Whether values are ever converted.
    const CONVERTS: bool;
    /// Whether the sender converts to the external representation.
    const CANONICAL: bool;
    /// Whether the values of this machine have the most significant byte first.
    const BIG_ENDIAN: bool;
}

/// A byte order, as a type.
pub trait Order: 'static {
    /// Whether the most significant byte comes first.
    const BIG_ENDIAN: bool;
}

/// The byte order of the machine that runs this.
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// The opposite byte order, with which a test simulates another machine.
#[derive(Clone, Copy, Debug)]
pub struct Opposite;

impl Order for Native {
    const BIG_ENDIAN: bool = cfg!(target_endian = "big");
}

impl Order for Opposite {
    const BIG_ENDIAN: bool = !Native::BIG_ENDIAN;
}

/// All machines have one byte order: nothing is converted or declared.
#[derive(Clone, Copy, Debug)]
pub struct Homogeneous;

/// Receiver makes right: a sender declares its byte order once to every peer, and a receiver converts only if it
/// differs.
#[derive(Clone, Copy, Debug)]
pub struct Heterogeneous<O = Native>(core::marker::PhantomData<O>);

/// Values travel most significant byte first; machines of another order convert.
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
