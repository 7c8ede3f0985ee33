//! Compositions without rendezvous: credit alone keeps the pool within its bound.

use crate::common::*;
use crate::help::*;
use pombo_kernel::{Error, Node, Operate};

/// A sender that waits for credit gets the places that are free, even if they are few.
#[test]
fn a_free_place_reaches_a_sender_that_waits() {
    for credit in 2..8usize {
        let mut ranks = world::<Plain>(2, credit as u32);
        for _ in 0..credit {
            ranks[1].put(0, 1, b"early");
        }
        settle(&mut ranks);
        let first = ranks[0].post(Some(1), Some(1), 8);
        let wanted = ranks[0].post(Some(1), Some(2), 8);
        settle(&mut ranks);
        assert_eq!(ranks[0].bytes(first), b"early");
        let late = ranks[1].send(Node(0), tagged(2), Bytes(b"wanted".to_vec()));
        let late = late.map_err(Error::from).map(drop);
        assert_eq!(late, Ok(()), "credit {credit}: one place is free, and one receive waits for the message");
        settle(&mut ranks);
        assert_eq!(ranks[0].bytes(wanted), b"wanted");
    }
}
