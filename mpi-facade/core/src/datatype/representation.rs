//! The form of values in messages and packed data where machines differ: the bytes of memory, most significant first, and
//! `long double` as binary128. `external32` shares it, of which it differs in that no value changes its size. Source: MPI
//! 5.0, section 14.5.2.

use super::predefined::Element;

/// Whether the machines of a job may differ: then values of more than one byte are converted.
pub(crate) const HETEROGENEOUS: bool = cfg!(feature = "heterogeneous");

/// Most bytes of a value.
pub(crate) const MOST: usize = 16;

/// Converts a value of this machine, of the size of its element, to the form of messages.
pub(crate) fn to_message(element: Element, value: &mut [u8]) {
    match <&mut [u8; MOST]>::try_from(&mut *value) {
        Ok(whole) if element == Element::LongDouble && HAS_EXTENDED => {
            *whole = quad_of_extended(u128::from_ne_bytes(*whole)).to_be_bytes();
        }
        _ => reverse(value),
    }
}

/// Converts a value in the form of messages, of the size of its element, to that of this machine.
pub(crate) fn from_message(element: Element, value: &mut [u8]) {
    match <&mut [u8; MOST]>::try_from(&mut *value) {
        Ok(whole) if element == Element::LongDouble && HAS_EXTENDED => {
            *whole = extended_of_quad(u128::from_be_bytes(*whole)).to_ne_bytes();
        }
        _ => reverse(value),
    }
}

/// Whether `long double` has the 80 bits of the x87 unit.
const HAS_EXTENDED: bool = cfg!(target_arch = "x86_64");

fn reverse(value: &mut [u8]) {
    if cfg!(target_endian = "little") {
        value.reverse();
    }
}

/// Bits of the fraction of binary128, and of the x87 unit's numbers behind the bit before the point.
const QUAD: u32 = 112;
const EXTENDED: u32 = 63;
const EXPONENTS: u128 = 0x7fff;

/// Converts the 80 bits of the x87 unit to binary128, which has the same exponents and can hold all their values.
fn quad_of_extended(extended: u128) -> u128 {
    let sign = extended >> (EXTENDED + 16) & 1;
    let mut exponent = extended >> (EXTENDED + 1) & EXPONENTS;
    let fraction = extended & ((1 << EXTENDED) - 1);
    // Only the unit knows numbers with the lowest exponent that are not denormal.
    if exponent == 0 && extended >> EXTENDED & 1 == 1 {
        exponent = 1;
    }
    sign << (QUAD + 15) | exponent << QUAD | fraction << (QUAD - EXTENDED)
}

/// Converts binary128 to the nearest number of 80 bits, to the even one of two.
fn extended_of_quad(quad: u128) -> u128 {
    const SURPLUS: u32 = QUAD - EXTENDED;
    let sign = quad >> (QUAD + 15);
    // Exponent and fraction together, so that a carry comes into the exponent.
    let magnitude = quad & ((1 << (QUAD + 15)) - 1);
    let infinity = EXPONENTS << QUAD;
    let mut kept = magnitude >> SURPLUS;
    if magnitude > infinity {
        // It stays no number, whatever bits are lost.
        kept |= 1 << (EXTENDED - 1);
    } else {
        let lost = magnitude & ((1 << SURPLUS) - 1);
        let half = 1 << (SURPLUS - 1);
        kept += u128::from(lost > half || lost == half && kept & 1 == 1);
    }
    let (exponent, fraction) = (kept >> EXTENDED, kept & ((1 << EXTENDED) - 1));
    let before_the_point = u128::from(exponent != 0) << EXTENDED;
    sign << (EXTENDED + 16) | exponent << (EXTENDED + 1) | before_the_point | fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of 80 bits: sign and exponent, then the bit before the point and the fraction.
    const fn extended(head: u16, fraction: u64) -> u128 {
        (head as u128) << 64 | fraction as u128
    }

    #[test]
    fn long_doubles_survive() {
        for (own, quad) in [
            (extended(0, 0), 0),
            (extended(0x3fff, 1 << 63), 0x3fff << 112),
            (extended(0xc000, 3 << 62), 0xc000_8000 << 96),
            (extended(0x7fff, 1 << 63), 0x7fff << 112),
            (extended(0, 1), 1 << 49),
            (extended(0x7ffe, u64::MAX), (0x7fff << 112) - (1 << 49)),
        ] {
            assert_eq!(quad_of_extended(own), quad, "{own:x}");
            assert_eq!(extended_of_quad(quad), own, "{quad:x}");
        }
    }

    #[test]
    fn what_does_not_fit_is_rounded_to_even() {
        let one = 0x3fff_u128 << 112;
        for (lost, fraction) in [
            (0, 0),
            (1 << 48, 0),
            ((1 << 48) + 1, 1),
            (1 << 49 | 1 << 48, 2),
            ((1 << 49) - 1, 1),
        ] {
            assert_eq!(
                extended_of_quad(one | lost),
                extended(0x3fff, 1 << 63 | fraction),
                "{lost:x}"
            );
        }
        // The next number up has another exponent, or is infinite.
        assert_eq!(
            extended_of_quad((0x4000 << 112) - 1),
            extended(0x4000, 1 << 63)
        );
        assert_eq!(
            extended_of_quad((0x7fff << 112) - 1),
            extended(0x7fff, 1 << 63)
        );
        let nan = extended_of_quad((0x7fff << 112) + 1);
        assert_eq!(nan, extended(0x7fff, 3 << 62));
        // The number that only the unit knows.
        assert_eq!(quad_of_extended(extended(0, 1 << 63)), 1 << 112);
    }
}
