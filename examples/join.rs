//! A job that processes join while it runs, without MPI.
//!
//! ```text
//! cargo build --release --example join
//! pombo run -n 1 --spare 2 --job-file job target/release/examples/join &
//! pombo join job target/release/examples/join Ada
//! pombo join job target/release/examples/join Grace
//! ```
//!
//! Rank 0 answers a guest in each of the job's spare places, or learns that it has died, and then the job ends.

use pombo_job::{Joined, WorldChannel};
use pombo_kernel::aspect::Rendezvous;
use pombo_kernel::matching::Linear;
use pombo_kernel::prelude::*;
use pombo_kernel::{Capacities, Composition};
use pombo_netdrivers::HeapStorage;

header! {
    /// What a message is: a guest's name, or the answer to it.
    struct Greeting { kind: u8 }
}

const NAME: u8 = 1;
const ANSWER: u8 = 2;

/// Of up to so many ranks.
const RANKS: usize = 64;
type Sizes = Capacities<64, 64, 1024, RANKS>;
type Place = Composition<U32, Rendezvous<1024>, Linear, HeapStorage, Sizes>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Joined {
        channel,
        hosts,
        launcher,
    } = pombo_job::enter::<Greeting, Place, RANKS>()?;
    let mut comm = Communicator::<Greeting, _, Lent<'_>, Place>::new(channel)?;
    let mut text = [0; 64];
    if let Some(name) = std::env::args().nth(1) {
        comm.send(Peer(0), Greeting { kind: NAME }, name.as_bytes())?;
        let envelope = comm.recv(Greeting::kind(ANSWER), &mut text)?;
        println!("{}", String::from_utf8_lossy(&text[..envelope.len()]));
        return Ok(pombo_job::leave(comm, launcher)?);
    }
    let mut places: Vec<Peer> = (1..comm.peers() as u16).map(Peer).collect();
    while let Some(&next) = places.first() {
        let is_free = |place: &&Peer| !comm.channel().has_started(&hosts, **place);
        println!("{} places are free", places.iter().filter(is_free).count());
        // Places are given in their order.
        let wanted = Greeting::kind(NAME).from_peer(next);
        match comm.recv(wanted, &mut text) {
            Ok(envelope) => {
                let name = String::from_utf8_lossy(&text[..envelope.len()]);
                println!("rank {next}: {name}");
                let answer = format!("welcome, {name}");
                comm.send(next, Greeting { kind: ANSWER }, answer.as_bytes())?;
            }
            Err(Error::PeerLost(_)) => println!("rank {next} has died"),
            Err(error) => return Err(error.into()),
        }
        places.remove(0);
    }
    Ok(pombo_job::leave(comm, launcher)?)
}
