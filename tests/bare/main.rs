//! A program of its own: the kernel without a standard library, an allocator, or an operating system beyond one system
//! call for the exit. It sends messages to itself and exits with 0, or with the number of the step that failed.
//!
//! The test `bare` builds it, with rendezvous and without, runs it, and measures it.
#![no_std]
#![no_main]

mod machine;

use machine::exit;
use pombo_kernel::channel::SelfChannel;
use pombo_kernel::{Communicator, Header, Lent, Loan, Pattern, Peer, Selected, Ticket};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A channel number; receives name it exactly.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Port(u8);

impl Header for Port {
    const NAME: &str = "Port";
    type Pattern = Port;
}

impl Pattern<Port> for Port {
    fn matches(&self, _from: Peer, header: &Port) -> bool {
        self == header
    }

    fn source(&self) -> Option<Peer> {
        None
    }
}

const ME: Peer = Peer(0);

type Comm<'buf> = Communicator<Port, SelfChannel<512>, Lent<'buf>, Selected>;

/// Begins the program, on a stack that `machine` has prepared.
fn main() -> ! {
    let long = pattern::<200>(3);
    let short = pattern::<5>(9);
    let mut into_long = [0; 200];
    let mut into_short = [0; 8];
    let Ok(mut comm) = Comm::new(SelfChannel::new()) else {
        exit(1)
    };
    // The receives are posted in the opposite order of the messages.
    let Ok(second) = comm.irecv(Port(2), &mut into_short) else {
        exit(2)
    };
    let Ok(first) = comm.isend(ME, Port(1), &long) else {
        exit(3)
    };
    let Ok(also) = comm.isend(ME, Port(2), &short) else {
        exit(4)
    };
    let Ok(into) = comm.irecv(Port(1), &mut into_long) else {
        exit(5)
    };
    check(&mut comm, second, &short, 10);
    check(&mut comm, into, &long, 20);
    for ticket in [first, also] {
        match comm.wait(ticket) {
            Ok(over) if over.outcome.is_ok() => {}
            _ => exit(6),
        }
    }
    #[cfg(feature = "rendezvous")]
    announced();
    exit(0)
}

/// Checks that a receive gets exactly these bytes.
fn check(comm: &mut Comm<'_>, ticket: Ticket, expected: &[u8], step: u8) {
    let Ok(over) = comm.wait(ticket) else {
        exit(step)
    };
    let Loan::Received(bytes) = over.loan else {
        exit(step + 1)
    };
    if over.outcome != Ok(expected.len()) || bytes.get(..expected.len()) != Some(expected) {
        exit(step + 2)
    }
}

/// Sends a message longer than a cell and than a frame, which the receiver requests.
#[cfg(feature = "rendezvous")]
fn announced() {
    let long = pattern::<3000>(7);
    let mut into = [0; 3000];
    let Ok(mut comm) = Comm::new(SelfChannel::new()) else {
        exit(31)
    };
    let Ok(sent) = comm.isend(ME, Port(1), &long) else {
        exit(32)
    };
    let Ok(into) = comm.irecv(Port(1), &mut into) else {
        exit(33)
    };
    check(&mut comm, into, &long, 40);
    if !comm.wait(sent).is_ok_and(|over| over.outcome == Ok(3000)) {
        exit(34)
    }
}

fn pattern<const N: usize>(seed: u8) -> [u8; N] {
    core::array::from_fn(|i| (i as u8).wrapping_mul(7) ^ seed)
}
