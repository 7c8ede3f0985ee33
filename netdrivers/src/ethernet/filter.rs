//! Filter programs of the system: frames of others never wake this process. Only `ethernet` uses them.

use crate::ethernet_frame::{ETHER_TYPE, EVERYBODY, FrameAddress};
use libc::{
    BPF_ABS, BPF_B, BPF_H, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SKF_AD_IFINDEX,
    SKF_AD_OFF,
};

pub(super) type Filter = [libc::sock_filter; 16];

/// Returns a filter for frames of this job and kind over one of two interfaces that are for this peer, or for all peers
/// unless this peer has sent them.
pub(super) fn program_for(frame_address: FrameAddress, interfaces: [i32; 2]) -> Filter {
    // The filter machine loads big-endian words, and our header is little-endian.
    let swapped = |word: u16| u32::from(word.swap_bytes());
    let [first, second] = interfaces.map(|index| index as u32);
    // Targets of jumps.
    const PASS: u8 = 14;
    const DROP: u8 = 15;
    let unless = |at: u8, value: u32| jump(value, 0, DROP - at - 1);
    [
        load(BPF_W, (SKF_AD_OFF + SKF_AD_IFINDEX) as u32),
        jump(first, 1, 0),
        unless(2, second),
        load(BPF_H, 12),
        unless(4, u32::from(ETHER_TYPE)),
        load(BPF_B, 14),
        unless(6, u32::from(frame_address.kind())),
        load(BPF_H, 16),
        unless(8, swapped(frame_address.job)),
        load(BPF_H, 20),
        jump(swapped(frame_address.peer.0), PASS - 10 - 1, 0),
        unless(11, swapped(EVERYBODY)),
        load(BPF_H, 18),
        jump(swapped(frame_address.peer.0), DROP - 13 - 1, PASS - 13 - 1),
        ret(u32::MAX),
        ret(0),
    ]
}

pub(super) fn load(size: u32, at: u32) -> libc::sock_filter {
    step(BPF_LD | size | BPF_ABS, 0, 0, at)
}

/// Returns a comparison that skips `equal` instructions if it holds, else `other`.
pub(super) fn jump(value: u32, equal: u8, other: u8) -> libc::sock_filter {
    step(BPF_JMP | BPF_JEQ | BPF_K, equal, other, value)
}

pub(super) fn ret(bytes: u32) -> libc::sock_filter {
    step(BPF_RET | BPF_K, 0, 0, bytes)
}

fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}
