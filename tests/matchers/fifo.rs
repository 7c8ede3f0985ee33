//! Tests a composition without queues: messages are received in arrival order, and receives cannot wait.

use crate::common::{
    Bytes, Owned, Tagged, adversarial, cases, payload, settle_adversarial, tagged, wanted,
};
use pombo_kernel::aspect::{Cell, Eager, Rendezvous, Static};
use pombo_kernel::matching::{Arrived, Expected, Matcher, NoQueues, Posted, Unexpected};
use pombo_kernel::{Capacities, Communicator, Composition, Config, Error, Loan, Peer, Ticket};
use pombo_netdrivers::Loopback;
use pombo_testing::{AdversarialChannel, Profile};
use proptest::prelude::*;
use std::collections::VecDeque;
use zerocopy::little_endian::U32;

type Plain = Composition<U32, Eager, NoQueues, Static, Capacities<64, 6, 64, 3>>;
type Held = Composition<U32, Rendezvous<16>, NoQueues, Static, Capacities<64, 3, 64, 3>>;

#[test]
fn no_receive_takes_a_byte() {
    takes_nothing::<<NoQueues as Matcher>::Expected<Tagged, Plain>>();
}

fn takes_nothing<E: Expected<Tagged, ()>>() {
    assert_eq!(size_of::<E>(), 0);
    let mut expected = E::new();
    let posted = Posted {
        pattern: wanted(None, None),
        slot: 0,
        sequence: (),
    };
    assert!(!expected.post(posted));
    assert!(expected.find(Peer(0), &tagged(0)).is_none());
    assert!(expected.following(0, Peer(0)).is_none());
    assert_eq!(expected.len(), 0);
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn the_pool_is_first_in_first_out(acts in prop::collection::vec((any::<bool>(), 0..3i32), 1..100)) {
        let mut pool = <<NoQueues as Matcher>::Unexpected<Tagged, Plain> as Unexpected<_, _>>::new();
        let mut model = VecDeque::new();
        for (number, (arrives, tag)) in acts.into_iter().enumerate() {
            if arrives {
                let arrived = Arrived::whole(Peer(0), tagged(tag), &[number as u8]).expect("short");
                let kept = pool.push(arrived).is_some();
                assert_eq!(kept, model.len() < 6);
                model.extend(kept.then_some((number as u8, tag)));
            } else {
                let tag = (tag > 0).then_some(tag);
                let search = pool.search(&wanted(None, tag));
                let first = model.front().copied();
                let takes = first.is_some_and(|(_, sent)| tag.is_none_or(|tag| tag == sent));
                assert_eq!(search.found.is_some(), takes);
                assert_eq!(search.steps, usize::from(first.is_some()));
                if let Some(place) = search.found {
                    let payload = pool.get(place).expect("a message").payload.bytes();
                    assert_eq!(payload, [model.pop_front().expect("it takes it").0]);
                    pool.remove(place);
                }
            }
            assert_eq!(pool.len(), model.len());
        }
    }

    /// A program that receives everything with wildcards gets everything, in order for each sender.
    #[test]
    fn everything_comes_in_order(
        messages in prop::collection::vec((1..3u16, 0..40usize), 1..40),
    ) {
        // Without rendezvous messages above the eager limit are refused.
        let short: Vec<_> = messages.iter().map(|&(from, len)| (from, len % 16)).collect();
        all_arrive::<Plain>(&short);
        all_arrive::<Held>(&messages);
    }
}

type Rank<C> = Communicator<Tagged, AdversarialChannel<Loopback>, Owned, C>;

fn all_arrive<C: Config>(messages: &[(u16, usize)]) {
    let over = |channel| Rank::<C>::new(channel).expect("it fits");
    let mut ranks: Vec<Rank<C>> = adversarial(3, 8, Profile::BENIGN, 1)
        .into_iter()
        .map(over)
        .collect();
    let mut sent = Vec::new();
    let mut got: [Vec<i32>; 3] = Default::default();
    for (number, &(from, len)) in messages.iter().enumerate() {
        let header = tagged(number as i32);
        while let Err(refused) =
            ranks[usize::from(from)].isend(Peer(0), header, Bytes(payload(number, len)))
        {
            assert_eq!(refused.error, Error::NoCredit(Peer(0)));
            assert!(take(&mut ranks, messages, &mut got), "the pool is full");
        }
        sent.push(number as i32);
    }
    while take(&mut ranks, messages, &mut got) {}
    for from in 1..3u16 {
        let of = |&number: &i32| messages[number as usize].0 == from;
        let right: Vec<i32> = sent.iter().copied().filter(of).collect();
        assert_eq!(got[usize::from(from)], right);
    }
    assert_eq!(ranks[0].lengths().unexpected, 0);
    assert_eq!(ranks[0].rejected(), 0);
}

/// Receives the first message; returns false if there is none.
fn take<C: Config>(
    ranks: &mut [Rank<C>],
    messages: &[(u16, usize)],
    got: &mut [Vec<i32>; 3],
) -> bool {
    settle_adversarial(ranks);
    let any = wanted(None, None);
    let Some(envelope) = ranks[0].probe(any).expect("nobody is lost") else {
        return false;
    };
    let ticket: Ticket = ranks[0]
        .irecv(any, Bytes(vec![0; 64]))
        .map_err(Error::from)
        .expect("it is here");
    settle_adversarial(ranks);
    let completed = ranks[0].claim(ticket).expect("known").expect("it is over");
    let number = envelope.header().tag.get();
    let (from, len) = messages[number as usize];
    assert_eq!(completed.outcome, Ok(len));
    let Loan::Received(Bytes(bytes)) = completed.loan else {
        panic!("a receive")
    };
    assert_eq!(bytes[..len], payload(number as usize, len));
    assert_eq!(completed.envelope.expect("a message").peer(), Peer(from));
    got[usize::from(from)].push(number);
    true
}

/// A receive that finds no message is refused, and its buffer comes back.
#[test]
fn a_receive_cannot_wait() {
    refuses::<Plain>();
    refuses::<Held>();
}

fn refuses<C: Config>() {
    let over = |channel| Rank::<C>::new(channel).expect("it fits");
    let mut ranks: Vec<Rank<C>> = adversarial(3, 8, Profile::BENIGN, 1)
        .into_iter()
        .map(over)
        .collect();
    let any = wanted(None, None);
    let refused = ranks[0].irecv(any, Bytes(vec![7])).expect_err("no message");
    assert_eq!(refused.error, Error::FeatureDisabled("matching"));
    assert_eq!(refused.loan.0, [7]);
    assert_eq!(ranks[0].lengths().operations, 0);

    ranks[1]
        .isend(Peer(0), tagged(5), Bytes(vec![9]))
        .map_err(Error::from)
        .expect("credit");
    settle_adversarial(&mut ranks);
    let other = ranks[0]
        .irecv(wanted(None, Some(4)), Bytes(vec![7]))
        .expect_err("no match");
    assert_eq!(other.error, Error::FeatureDisabled("matching"));
    let ticket = ranks[0]
        .irecv(wanted(Some(1), Some(5)), Bytes(vec![7]))
        .map_err(Error::from);
    let completed = ranks[0].claim(ticket.expect("it is here")).expect("known");
    assert_eq!(completed.expect("it is over").outcome, Ok(1));
}

/// A probe does not find a message that the sender still holds, because no receive could take it.
#[test]
fn a_probe_names_what_a_receive_takes() {
    let over = |channel| Rank::<Held>::new(channel).expect("it fits");
    let mut ranks: Vec<Rank<Held>> = adversarial(3, 8, Profile::BENIGN, 1)
        .into_iter()
        .map(over)
        .collect();
    for tag in 0..3 {
        ranks[1]
            .isend(Peer(0), tagged(tag), Bytes(vec![9]))
            .map_err(Error::from)
            .expect("held");
    }
    let mut got = 0;
    for round in 0..100 {
        let rank = &mut ranks[round % 2];
        rank.check_messages().expect("the channel does not break");
        while let Some(envelope) = ranks[0].probe(wanted(None, None)).expect("nobody is lost") {
            assert_eq!(envelope.header().tag.get(), got);
            let ticket = ranks[0].irecv(wanted(None, None), Bytes(vec![7]));
            let ticket = ticket.map_err(Error::from).expect("it is here");
            assert!(ranks[0].claim(ticket).expect("known").is_some());
            got += 1;
        }
    }
    assert_eq!(got, 3);
}
