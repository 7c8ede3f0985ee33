//! Little-endian integers at an offset in bytes that may be too short. Only the decoder uses it.

/// Returns the `N` bytes at `at`, or `None` if there are fewer.
pub(super) fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..)?.first_chunk().copied()
}

/// Reads a little-endian integer, as all of our protocols have.
pub(super) fn u16_at(from: &[u8], at: usize) -> Option<u16> {
    bytes(from, at).map(u16::from_le_bytes)
}

/// Reads a little-endian integer.
pub(super) fn u32_at(from: &[u8], at: usize) -> Option<u32> {
    bytes(from, at).map(u32::from_le_bytes)
}

/// Reads a little-endian integer.
pub(super) fn u64_at(from: &[u8], at: usize) -> Option<u64> {
    bytes(from, at).map(u64::from_le_bytes)
}
