//! An envelope belongs to its protocol and to its composition.
mod help;
use help::*;

type Announcing = Composition<U32, Rendezvous<16>, Linear, Static, Capacities<8, 8, 64, 2>>;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut comm = Comm::new(channel)?;
    let envelope = comm.wait_probe(Tag(1))?;
    #[cfg(feature = "wrong")]
    let _: Envelope<OtherHeader, Off> = envelope; //~ E0308
    #[cfg(feature = "wrong")]
    let _: Envelope<Tag, Announcing> = envelope; //~ E0308
    let _: Envelope<Tag, Off> = envelope;
    Ok(())
}
