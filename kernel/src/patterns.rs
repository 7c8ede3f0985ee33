//! Patterns for a protocol that matches by the bytes of its header and by the sender. [`header!`](crate::header!)
//! uses them; a protocol with rules of its own implements [`Pattern`] itself.

use crate::header::{Pattern, Peer, Wire, fold};
use core::ops::BitAnd;
use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Every message, as a pattern of any protocol whose patterns are [`Select`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Any;

/// Messages with exactly this header, from any sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exact<H>(pub H);

/// Messages whose header has certain bytes at certain offsets, from one sender or from any.
///
/// Created from [`Any`], from [`Exact`], or from a field by the function that [`header!`](crate::header!) defines for
/// it; `&` combines two of them, and [`Select::from_peer`] names the sender.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C, packed)]
pub struct Select<H: Wire> {
    /// Ones at the bits in which the header has to agree with `value`, which has zeros elsewhere.
    mask: H,
    value: H,
    /// The sender, if `named`.
    sender: U16,
    named: u8,
}

impl<H: Wire> Select<H> {
    /// Returns the pattern of every message.
    pub fn any() -> Self {
        Self::new_zeroed()
    }

    /// Returns the pattern of messages that agree with `value` in the bytes that `field` selects, which must be at the
    /// same offsets in both headers. [`header!`](crate::header!) calls it for each field.
    pub fn field(value: H, field: impl Fn(&mut H) -> &mut [u8]) -> Self {
        let (mut all, mut value) = (Self::any(), value);
        let mut mask = H::new_zeroed();
        field(&mut mask).fill(0xff);
        for (byte, mask) in value.as_mut_bytes().iter_mut().zip(mask.as_bytes()) {
            *byte &= mask;
        }
        (all.mask, all.value) = (mask, value);
        all
    }

    /// Returns the pattern restricted to one sender.
    pub fn from_peer(self, sender: Peer) -> Self {
        Select {
            sender: U16::new(sender.0),
            named: 1,
            ..self
        }
    }

    /// Returns whether a header matches, whatever its sender.
    fn agrees(&self, header: &H) -> bool {
        let (mask, value) = (self.mask, self.value);
        let places = mask.as_bytes().iter().zip(value.as_bytes());
        let mut places = places.zip(header.as_bytes());
        places.all(|((mask, value), byte)| byte & mask == *value)
    }

    /// Returns whether every byte of the header is selected.
    fn is_exact(&self) -> bool {
        let mask = self.mask;
        mask.as_bytes().iter().all(|mask| *mask == 0xff)
    }
}

/// The intersection of two patterns. If they select different bytes or different senders, no message matches both: then
/// the left one's choice prevails.
impl<H: Wire> BitAnd for Select<H> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        let (mut mask, mut value) = (self.mask, self.value);
        let (its_mask, its_value) = (other.mask, other.value);
        let ours = mask.as_mut_bytes().iter_mut().zip(value.as_mut_bytes());
        let its = its_mask.as_bytes().iter().zip(its_value.as_bytes());
        for ((mask, value), (its_mask, its_value)) in ours.zip(its) {
            *value |= its_value & !*mask;
            *mask |= its_mask;
        }
        let sender = if self.named != 0 { self } else { other };
        Select {
            mask,
            value,
            sender: sender.sender,
            named: sender.named,
        }
    }
}

impl<H: Wire> From<Any> for Select<H> {
    fn from(_: Any) -> Self {
        Select::any()
    }
}

impl<H: Wire> From<Exact<H>> for Select<H> {
    fn from(Exact(header): Exact<H>) -> Self {
        Select::field(header, H::as_mut_bytes)
    }
}

/// The bits of a class: the whole header is selected, the sender is named.
const HEADER: usize = 1;
const SENDER: usize = 2;

impl<H: Wire> Pattern<H> for Select<H> {
    /// The whole header is selected or not, the sender is named or not.
    const CLASSES: usize = 4;

    fn matches(&self, from: Peer, header: &H) -> bool {
        (self.named == 0 || self.sender.get() == from.0) && self.agrees(header)
    }

    fn source(&self) -> Option<Peer> {
        (self.named != 0).then(|| Peer(self.sender.get()))
    }

    fn class(&self) -> (usize, u32) {
        let header = if self.is_exact() { HEADER } else { 0 };
        let sender = if self.named != 0 { SENDER } else { 0 };
        let value = self.value;
        let class = header | sender;
        (class, Self::key(class, Peer(self.sender.get()), &value))
    }

    fn key(class: usize, from: Peer, header: &H) -> u32 {
        let sender = match class & SENDER {
            0 => 0,
            _ => 1 + u32::from(from.0),
        };
        let bytes = match class & HEADER {
            0 => &[],
            _ => header.as_bytes(),
        };
        bytes
            .iter()
            .fold(sender, |key, byte| fold([key, u32::from(*byte)]))
    }
}

/// Defines the header of a protocol: a struct of fixed-size fields that is transmitted bytewise.
///
/// Fields are `u8`, arrays of it, or the little-endian numbers of the [prelude](crate::prelude): `U16`, `U32`, `U64`.
/// The struct can be copied, compared and printed, and is a [`Header`](crate::Header) whose patterns are [`Select`].
/// Its identity, which the [fingerprint](crate::fingerprint) includes, is its name with the names and types of its
/// fields: programs that disagree in one of them do not start together. For each field a function of the same name
/// returns a pattern that selects by it.
///
/// ```
/// use pombo_kernel::prelude::*;
///
/// header! {
///     /// What a message is about.
///     pub struct Topic { kind: u8, number: U32 }
/// }
///
/// let news = Topic { kind: 1, number: 7.into() };
/// let wanted: Select<Topic> = Topic::kind(1) & Topic::number(7.into());
/// assert!(wanted.matches(Peer(3), &news));
/// assert!(!Topic::kind(2).matches(Peer(3), &news));
/// assert!(!wanted.from_peer(Peer(0)).matches(Peer(3), &news));
/// assert!(Select::from(Exact(news)).matches(Peer(3), &news));
/// ```
#[macro_export]
macro_rules! header {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident {
            $($(#[$of:meta])* $shown:vis $field:ident : $type:ty),+ $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[derive(
            $crate::__zerocopy::FromBytes,
            $crate::__zerocopy::IntoBytes,
            $crate::__zerocopy::Immutable,
            $crate::__zerocopy::KnownLayout,
            $crate::__zerocopy::Unaligned,
        )]
        #[zerocopy(crate = "pombo_kernel::__zerocopy")]
        #[repr(C)]
        $vis struct $name {
            $($(#[$of])* $shown $field: $type,)+
        }

        #[allow(dead_code, reason = "a program need not select by every field")]
        impl $name {
            $(
                /// Returns the pattern of messages with this value in the field.
                $vis fn $field($field: $type) -> $crate::Select<Self> {
                    use $crate::__zerocopy::{FromZeros, IntoBytes};
                    let mut header = <Self as FromZeros>::new_zeroed();
                    header.$field = $field;
                    $crate::Select::field(header, |header| header.$field.as_mut_bytes())
                }
            )+
        }

        impl $crate::Header for $name {
            const NAME: &'static str = concat!(
                stringify!($name),
                $(" ", stringify!($field), ":", stringify!($type),)+
            );
            type Pattern = $crate::Select<Self>;
        }
    };
}

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::prelude::*;
    use proptest::prelude::*;

    header! {
        struct Pair { one: u8, two: U16 }
    }

    fn pair((one, two): (u8, u16)) -> Pair {
        Pair {
            one,
            two: two.into(),
        }
    }

    /// The fields that a pattern selects: `kind`, `number` and sender.
    type Wanted = (Option<u8>, Option<u16>, Option<u16>);

    fn select((one, two, sender): Wanted) -> Select<Pair> {
        let mut all = Select::any();
        if let Some(one) = one {
            all = all & Pair::one(one);
        }
        if let Some(two) = two {
            all = all & Pair::two(two.into());
        }
        match sender {
            Some(sender) => all.from_peer(Peer(sender)),
            None => all,
        }
    }

    fn wants((one, two, sender): Wanted, from: u16, header: (u8, u16)) -> bool {
        one.is_none_or(|one| one == header.0)
            && two.is_none_or(|two| two == header.1)
            && sender.is_none_or(|sender| sender == from)
    }

    proptest! {
        /// Uses few values, so that they often agree, and checks the contract of classes.
        #[test]
        fn fields_and_senders_select(
            wanted in (
                proptest::option::of(0..3_u8),
                proptest::option::of(0..3_u16),
                proptest::option::of(0..3_u16),
            ),
            from in 0..3_u16,
            header in (0..3_u8, 0..3_u16),
        ) {
            let (pattern, header) = (select(wanted), (pair(header), header));
            let matches = pattern.matches(Peer(from), &header.0);
            prop_assert_eq!(matches, wants(wanted, from, header.1));
            let (class, key) = pattern.class();
            prop_assert!(class < <Select<Pair> as Pattern<Pair>>::CLASSES);
            if matches {
                let its = <Select<Pair> as Pattern<Pair>>::key(class, Peer(from), &header.0);
                prop_assert_eq!(key, its);
            }
            prop_assert_eq!(pattern.source(), wanted.2.map(Peer));
        }
    }

    #[test]
    fn ready_patterns() {
        let header = pair((1, 2));
        assert!(Select::from(Any).matches(Peer(9), &header));
        assert!(Select::from(Exact(header)).matches(Peer(9), &header));
        assert!(!Select::from(Exact(pair((1, 3)))).matches(Peer(9), &header));
        assert_eq!(Pair::NAME, "Pair one:u8 two:U16");
    }
}
