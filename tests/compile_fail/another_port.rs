//! A port carries its own protocol, and there are as many ports as the endpoint was built with.
mod help;
use help::*;

type Two<L> = Endpoint<
    L,
    (
        Port<Tag, Lent<'static>, Off>,
        Port<OtherHeader, Lent<'static>, Off>,
    ),
>;

pub fn case(channel: SelfChannel<512>) -> Result<(), Error> {
    let mut endpoint = Two::two(channel)?;
    #[cfg(feature = "wrong")]
    endpoint.port::<0>().isend(Peer(0), OtherHeader(1), b"hello")?; //~ E0308
    #[cfg(feature = "wrong")]
    endpoint.port::<2>(); //~ E0277
    endpoint.port::<0>().isend(Peer(0), Tag(1), b"hello")?;
    endpoint.port::<1>().isend(Peer(0), OtherHeader(1), b"hello")?;
    Ok(())
}
