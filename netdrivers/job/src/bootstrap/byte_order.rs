//! The byte order of this machine, and the names of both. Only `bootstrap` uses it.

/// Whether this machine has the most significant byte of a number first.
pub(super) const BIG_ENDIAN: bool = cfg!(target_endian = "big");

/// Returns the name of a byte order.
pub(super) fn byte_order(big_endian: bool) -> &'static str {
    if big_endian { "big" } else { "little" }
}
