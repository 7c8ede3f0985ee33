//! Mails beside rings compared with a queue each way, and corrupt memory.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use pombo_kernel::memory::Part;

use super::ring::MappedBoards;
use super::{Lcg, frame};

use crate::shm::mail::{MAIL_LIMIT, Mail, Positions, take_mail, take_other, take_plain};
use crate::shm::ring::*;
use crate::shm::sync::Ordering;

/// One of two ranks.
struct Side<'a> {
    outbound: Producer<&'a MappedBoards>,
    inbound: Consumer<&'a MappedBoards>,
    mail: Mail<&'a MappedBoards>,
    mails: u32,
}

impl Side<'_> {
    fn send(&mut self, bytes: &[u8]) -> Result<(), RingError> {
        let (head, payload) = bytes.split_at(bytes.len() % 71);
        let parts = [Part::Bytes(head), Part::Bytes(payload)];
        if self.mail.suits(bytes.len()) {
            let positions = Positions {
                outbound: self.outbound.position(),
                inbound: self.inbound.position(),
            };
            self.mail.write(positions, bytes.len(), &parts);
            self.mails += 1;
            return Ok(());
        }
        self.outbound
            .push(self.mail.ring_flags(), bytes.len(), &parts)?;
        self.mail.ring_sent();
        Ok(())
    }

    fn take(&mut self, looks: bool) -> Result<Option<Vec<u8>>, RingError> {
        let (ring, mail, mut taken) = (&mut self.inbound, &mut self.mail, None);
        let sent = self.outbound.position();
        let mut put = |bytes: &[u8]| taken = Some(bytes.to_vec());
        let any = take_plain(ring, mail, &mut put)
            || take_other(ring, mail, sent, looks, |bytes, flags| {
                assert_eq!(flags, 0);
                put(bytes);
            })?;
        assert_eq!(any, taken.is_some());
        Ok(taken)
    }

    /// Takes the mail alone, if it is the next frame.
    fn take_mail_alone(&mut self) -> Result<Option<Vec<u8>>, RingError> {
        let (sent, mut taken) = (self.outbound.position(), None);
        let any = take_mail(&self.inbound, &mut self.mail, sent, |bytes| {
            taken = Some(bytes.to_vec());
        })?;
        assert_eq!(any, taken.is_some());
        Ok(taken)
    }
}

/// Calls `f` with two ranks, the first of which has the token, and with the memory of their mails.
fn with_sides(f: impl FnOnce([Side<'_>; 2], &MappedBoards)) {
    let [one, other, block] = core::array::from_fn(|_| MappedBoards::new());
    let side = |to, from, holds| Side {
        outbound: Producer::new(to),
        inbound: Consumer::new(from),
        mail: Mail::new(&block, holds),
        mails: 0,
    };
    f(
        [side(&one, &other, true), side(&other, &one, false)],
        &block,
    );
}

/// Makes the first rank ready to mail.
fn invite(sides: &mut [Side<'_>; 2]) {
    let [one, other] = sides;
    one.send(b"question").expect("room");
    assert_eq!(other.take(true), Ok(Some(b"question".to_vec())));
    other.mail.open();
    other.send(b"answer").expect("room");
    assert_eq!(one.take(true), Ok(Some(b"answer".to_vec())));
    assert!(one.mail.suits(MAIL_LIMIT) && !one.mail.suits(MAIL_LIMIT + 1));
}

#[test]
fn order_is_that_of_a_queue() {
    with_sides(|mut sides, _| {
        let (mut queues, mut lcg) = ([VecDeque::new(), VecDeque::new()], Lcg(1));
        let (mut full, mut blocked, mut mails_first, mut last) = (0, 0, 0, 0);
        for number in 0..300_000 {
            let at = lcg.below(2) as usize;
            let side = &mut sides[at];
            side.mail.claims = number % 3 > 0;
            // Phases in which ranks answer each other, and phases in which both send as they like.
            let answers = number / 1000 % 2 == 0;
            if side.mail.can_open() && lcg.below(50) == 0 {
                side.mail.open();
            }
            let sends = match answers {
                true => at != last && queues.iter().all(VecDeque::is_empty),
                false => lcg.below(2) == 0,
            };
            if sends {
                let most = if lcg.below(10) == 0 { 900 } else { 130 };
                let bytes = frame(number, lcg.below(most) as usize);
                match side.send(&bytes) {
                    Ok(()) => {
                        last = at;
                        queues[at].push_back(bytes);
                    }
                    Err(error) => {
                        assert_eq!(error, RingError::Full);
                        full += 1;
                    }
                }
                continue;
            }
            let looks = lcg.below(3) > 0;
            if looks
                && lcg.below(2) == 0
                && let Some(bytes) = side.take_mail_alone().expect("valid memory")
            {
                assert_eq!(Some(bytes), queues[1 - at].pop_front());
                mails_first += 1;
                continue;
            }
            let expected = queues[1 - at].front();
            match side.take(looks).expect("valid memory") {
                Some(bytes) => assert_eq!(Some(bytes), queues[1 - at].pop_front()),
                None => {
                    assert!(expected.is_none() || !looks, "a frame is not found");
                    blocked += u32::from(expected.is_some());
                }
            }
        }
        assert!(full > 100, "the rings were hardly ever full");
        assert!(blocked > 100, "all looked for mails at once");
        assert!(mails_first > 1000, "few mails were taken first");
        assert!(sides.iter().all(|side| side.mails > 1000), "few mails");
    });
}

#[test]
fn mails_answer_each_other() {
    with_sides(|mut sides, _| {
        invite(&mut sides);
        for number in 0..1000 {
            let at = number as usize % 2;
            let bytes = frame(number, number as usize % (MAIL_LIMIT + 1));
            sides[1 - at].mail.claims = number % 3 > 0;
            sides[at].send(&bytes).expect("a mail");
            assert!(!sides[at].mail.can_open() && !sides[at].mail.suits(0));
            assert!(sides[1 - at].mail.has_next());
            assert_eq!(sides[1 - at].take(true), Ok(Some(bytes)));
            assert!(!sides[1 - at].mail.is_open(), "the token is there");
            assert!(!sides[at].mail.has_next(), "a claim is no mail");
        }
        assert_eq!(sides.map(|side| side.mails), [500, 500]);
    });
}

#[test]
fn a_stream_goes_through_the_ring() {
    with_sides(|mut sides, _| {
        invite(&mut sides);
        let [one, other] = &mut sides;
        for _ in 0..1000 {
            for number in 0..8 {
                one.send(&frame(number, 8)).expect("room");
            }
            for number in 0..8 {
                assert_eq!(other.take(true), Ok(Some(frame(number, 8))));
            }
            other.send(b"all").expect("room");
            assert_eq!(one.take(true), Ok(Some(b"all".to_vec())));
        }
        assert!(sides.iter().all(|side| side.mails <= 2));
    });
}

/// Any word of the block is read as a mail inside the block, as none, or refused.
#[test]
fn a_damaged_mail_is_refused() {
    let (mut taken, mut none, mut refused) = (0, 0, 0);
    for frames in [0, 1, 2, 3, 4096, 1 << 20, u32::MAX] {
        for number in [0, 1, 2, 3, 1 << 12] {
            for len in 0..1 << 11 {
                with_sides(|mut sides, block| {
                    invite(&mut sides);
                    let word = u64::from(frames) << 32 | number << 19 | len;
                    (&block).word(0).store(word, Ordering::Relaxed);
                    sides[1].mail.claims = true;
                    // Whoever takes the mail alone leaves the report of damage to whoever takes the next frame.
                    let alone = sides[1].take_mail_alone();
                    let next = match alone {
                        Ok(Some(_)) => alone.clone(),
                        _ => sides[1].take(true),
                    };
                    assert_eq!(alone, next);
                    match next {
                        Ok(Some(bytes)) => {
                            assert_eq!(bytes.len(), len as usize);
                            taken += 1;
                        }
                        Ok(None) => none += 1,
                        Err(error) => {
                            assert_eq!(error, RingError::Corrupt);
                            refused += 1;
                        }
                    }
                });
            }
        }
    }
    // All lengths up to the limit, with the right number, and three positions each: at most that of the frame that was
    // taken, as a gap may follow it, and behind it, as frames may be missing.
    let lengths = MAIL_LIMIT + 1;
    assert_eq!((taken, none), (3 * lengths, 3 * lengths + 1));
    assert!(refused > 0);
}

#[test]
fn a_frame_behind_a_mail_that_is_not_there_is_refused() {
    for is_open in [false, true] {
        with_sides(|[mut one, mut other], _| {
            if is_open {
                other.mail.open();
            }
            let flags = FIRST_STAMP;
            one.outbound
                .push(flags, 1, &[Part::Bytes(b"x")])
                .expect("room");
            assert_eq!(other.take(false), Err(RingError::Corrupt));
        });
    }
}
