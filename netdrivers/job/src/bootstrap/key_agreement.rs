//! Key agreement: the ranks of a job compute a key that nobody else knows, although the launcher and the wire between
//! hosts transmit their texts in clear. Only `bootstrap` and `job_channel` use it.
//!
//! Every rank puts an X25519 public key on its card. Each rank and the next one in the ring of ranks then share a link:
//! the BLAKE2s hash of their Diffie-Hellman secret, of all cards as they received them, and of the file that
//! `POMBO_AUTH_KEY_FILE` names. Each rank publishes the exclusive or of its two links. A rank, which has one of them,
//! computes the others round the ring; a listener, who has none, learns nothing. The key is the hash of all links, so
//! every rank contributes to it.
//!
//! If two ranks have received different cards, or have different files, their links differ, and the published texts do
//! not cancel out: all ranks detect that before any frame is sent. Source: Kim, Lee and Lee, Constant-round
//! authenticated group key exchange for dynamic groups, ASIACRYPT 2004, after Burmester and Desmedt, EUROCRYPT 1994.

use super::JobError;
use super::key_file;
use super::launcher_text::ExchangedText;
use crate::environment::random;
use alloc::boxed::Box;
use alloc::vec::Vec;
use blake2::{Blake2s256, Digest};
use pombo_kernel::text::{ToText, WriteText, write_digits};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

/// A public key, a share, or a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block(pub(crate) [u8; BLOCK]);

const BLOCK: usize = 32;

/// The secret key of a rank, for one job.
pub(super) struct Secret([u8; BLOCK]);

/// The links that a rank shares with its neighbours: the rank before it, and the rank after it.
pub(crate) struct RingKeys {
    me: usize,
    before: Block,
    after: Block,
}

impl Secret {
    pub(super) fn new() -> Result<Self, Box<JobError>> {
        random().map(Secret)
    }

    pub(super) fn public(&self) -> Block {
        Block(x25519(self.0, X25519_BASEPOINT_BYTES))
    }

    /// Computes the links with both neighbours. `cards` are the texts of all ranks, `publics` the keys on them; there
    /// are at least two ranks.
    pub(super) fn links(
        self,
        me: usize,
        cards: &[ExchangedText],
        publics: &[Block],
    ) -> Result<RingKeys, Box<JobError>> {
        let file = key_file::read()?;
        let mut all = Blake2s256::new();
        for card in cards {
            all.update(card.as_bytes());
            all.update(b"\n");
        }
        let (all, ranks) = (all.finalize(), publics.len());
        let link = |first: usize, other: usize| {
            let shared = x25519(self.0, publics[other].0);
            // Such a public key gives the same secret with every rank, so no honest rank has made it.
            if shared == [0; BLOCK] {
                return Err(JobError::card(other, cards[other].as_str()));
            }
            let first = (first as u64).to_le_bytes();
            Ok(hash(b"link", &[&shared, &first, &all, &file]))
        };
        let before = (me + ranks - 1) % ranks;
        Ok(RingKeys {
            me,
            before: link(before, before)?,
            after: link(me, (me + 1) % ranks)?,
        })
    }
}

impl RingKeys {
    /// Returns the share that this rank publishes.
    pub(crate) fn share(&self) -> Block {
        self.before.with(self.after)
    }

    /// Computes the key from the shares of all ranks.
    ///
    /// # Errors
    /// [`JobError::NoAgreement`] if the shares do not belong to one ring of links.
    pub(crate) fn key(&self, shares: &[Block]) -> Result<u128, Box<JobError>> {
        let ranks = shares.len();
        let mut links: Vec<[u8; BLOCK]> = Vec::new();
        links.resize(ranks, [0; BLOCK]);
        let mut link = self.after;
        for step in 0..ranks {
            let rank = (self.me + step) % ranks;
            links[rank] = link.0;
            // The next rank's share leads from this link to its other one.
            link = link.with(shares[(rank + 1) % ranks]);
        }
        let before = links[(self.me + ranks - 1) % ranks];
        if before != self.before.0 || link != self.after {
            return Err(Box::new(JobError::NoAgreement));
        }
        let Block(key) = hash(b"key", &[links.as_flattened()]);
        let (key, _) = key.split_at(size_of::<u128>());
        Ok(u128::from_le_bytes(key.try_into().unwrap_or_default()))
    }
}

impl Block {
    fn with(self, other: Block) -> Block {
        Block(core::array::from_fn(|at| self.0[at] ^ other.0[at]))
    }

    /// Parses the hexadecimal digits.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut block = [0; BLOCK];
        let digits = text.as_bytes();
        if digits.len() != 2 * BLOCK {
            return None;
        }
        for (byte, pair) in block.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| (pair[at] as char).to_digit(16);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Some(Block(block))
    }
}

pombo_kernel::text::display_as_text! { Block }

/// Writes hexadecimal digits.
impl ToText for Block {
    fn put_text(&self, out: &mut dyn WriteText) {
        for byte in self.0 {
            write_digits(out, byte.into(), 16, 2);
        }
    }
}

/// Hashes texts, which have equal lengths in every job except the last; `what` separates the hashes of different
/// purposes.
fn hash(what: &[u8], of: &[&[u8]]) -> Block {
    let mut hash = Blake2s256::new();
    hash.update(b"pombo ");
    hash.update(what);
    of.iter().for_each(|bytes| hash.update(bytes));
    Block(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed_string::text;
    use alloc::vec::Vec;

    /// Returns the links of `ranks` ranks; `hear` may change the cards that a rank receives.
    fn links(ranks: usize, hear: impl Fn(usize, &mut Vec<ExchangedText>)) -> Vec<RingKeys> {
        let secrets: Vec<Secret> = (0..ranks).map(|_| Secret::new().expect("room")).collect();
        let publics: Vec<Block> = secrets.iter().map(Secret::public).collect();
        let card = |public: &Block| -> ExchangedText { text!("a card with {}", public) };
        let cards: Vec<ExchangedText> = publics.iter().map(card).collect();
        let all = secrets.into_iter().enumerate();
        all.map(|(me, secret)| {
            let mut cards = cards.clone();
            hear(me, &mut cards);
            secret.links(me, &cards, &publics).expect("honest keys")
        })
        .collect()
    }

    #[test]
    fn all_ranks_find_one_key_and_another_every_time() {
        let mut seen = Vec::new();
        for ranks in 2..8 {
            let links = links(ranks, |_, _| ());
            let shares: Vec<Block> = links.iter().map(RingKeys::share).collect();
            let keys: Vec<_> = links.iter().map(|one| one.key(&shares)).collect();
            let key = keys[0].clone().expect("they agree");
            assert!(keys.iter().all(|one| *one == Ok(key)) && !seen.contains(&key));
            // No published share is the key or a link of any rank.
            for Block(word) in shares {
                assert!(word[..16] != key.to_le_bytes() && word[16..] != key.to_le_bytes());
                assert!(links.iter().all(|one| one.after.0 != word));
            }
            seen.push(key);
        }
    }

    #[test]
    fn whoever_changes_a_card_or_a_word_is_noticed_by_all() {
        for ranks in 2..6 {
            let split = links(ranks, |me, cards| {
                if me == 1 {
                    cards[0] = ExchangedText::from("another card");
                }
            });
            let shares: Vec<Block> = split.iter().map(RingKeys::share).collect();
            let refused = |one: &RingKeys| one.key(&shares) == Err(Box::new(JobError::NoAgreement));
            assert!(split.iter().all(refused));
            let honest = links(ranks, |_, _| ());
            let mut shares: Vec<Block> = honest.iter().map(RingKeys::share).collect();
            shares[ranks - 1].0[3] ^= 1;
            let refused = |one: &RingKeys| one.key(&shares) == Err(Box::new(JobError::NoAgreement));
            assert!(honest.iter().all(refused));
        }
    }

    #[test]
    fn a_key_that_has_one_secret_with_everybody_is_refused() {
        let secret = Secret::new().expect("random numbers");
        let own = secret.public();
        let cards = [ExchangedText::from("one"), ExchangedText::from("weak")];
        let weak = secret.links(0, &cards, &[own, Block([0; BLOCK])]);
        assert_eq!(weak.err(), Some(JobError::card(1, "weak")));
    }

    #[test]
    fn blocks_are_read_as_they_were_written() {
        let block = Secret::new().expect("random numbers").public();
        let word: ExchangedText = text!("{}", block);
        assert_eq!(Block::read(word.as_str()), Some(block));
        for text in ["", "00", &word.as_str()[1..], "g", &"+1".repeat(32)] {
            assert_eq!(Block::read(text), None, "{text}");
        }
    }
}
