//! The functions of C that compiled code may call, and what the compiler asks for beside them.

use core::arch::asm;

/// # Safety
/// As for the function of C: both are valid for `len` bytes and do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the copy reads and writes `len` bytes, for which both are valid.
    unsafe {
        asm!(
            "rep movsq",
            "mov ecx, {rest:e}",
            "rep movsb",
            rest = in(reg) len & 7,
            inout("rcx") len >> 3 => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
    to
}

/// # Safety
/// As for the function of C: both are valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if to.addr().wrapping_sub(from.addr()) >= len {
        // SAFETY: copying upwards in steps never reads a byte that it has written, as `to` lies before `from` or behind
        // the last byte to read.
        unsafe {
            asm!(
                "rep movsb",
                inout("rcx") len => _,
                inout("rdi") to => _,
                inout("rsi") from => _,
                options(nostack, preserves_flags)
            );
        }
        return to;
    }
    // SAFETY: `to` lies behind `from`, so the copy goes downwards; it reads and writes `len` bytes, for which both are
    // valid, and `len` is not 0. The flag is as it was afterwards.
    unsafe {
        asm!(
            "std",
            "rep movsb",
            "cld",
            inout("rcx") len => _,
            inout("rdi") to.add(len - 1) => _,
            inout("rsi") from.add(len - 1) => _,
            options(nostack)
        );
    }
    to
}

/// # Safety
/// As for the function of C: `to` is valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    // SAFETY: the instructions write `len` bytes, for which `to` is valid.
    unsafe {
        asm!(
            "rep stosq",
            "mov ecx, {rest:e}",
            "rep stosb",
            rest = in(reg) len & 7,
            inout("rcx") len >> 3 => _,
            inout("rdi") to => _,
            in("rax") u64::from(byte as u8) * 0x0101_0101_0101_0101,
            options(nostack, preserves_flags)
        );
    }
    to
}

/// # Safety
/// As for the function of C: both are valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    for i in 0..len {
        // SAFETY: both are valid for `len` bytes. Volatile, as the compiler makes a call of this function from the loop
        // otherwise.
        let (a, b) = unsafe { (a.add(i).read_volatile(), b.add(i).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// # Safety
/// As for the function of C: both are valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    // SAFETY: both are valid for `len` bytes.
    unsafe { memcmp(a, b, len) }
}

// The target's precompiled `core` names them; nothing unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    crate::machine::exit(crate::PANICKED)
}
