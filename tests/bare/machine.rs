//! Replaces the standard library: the entry point, the exit, and the five functions that compiled code may call.

use core::arch::{asm, global_asm};

// The kernel enters here with no return address; Rust expects an aligned stack and a call.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {begin}",
    "ud2",
    begin = sym begin,
);
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".globl _start",
    "_start:",
    "mov x29, xzr",
    "mov x30, xzr",
    "bl {begin}",
    "brk 1",
    begin = sym begin,
);

extern "C" fn begin() -> ! {
    crate::main()
}

/// Ends the process.
pub(crate) fn exit(code: u8) -> ! {
    // SAFETY: `exit_group` takes one integer, touches no memory of this program, and does not return.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", in("rax") 231, in("rdi") u64::from(code), options(noreturn, nostack))
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") 94, in("x0") u64::from(code), options(noreturn, nostack))
    }
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(101)
}

// Volatile accesses keep the compiler from turning these loops into calls of the same functions.

/// # Safety
/// As for the function of C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    for i in 0..len {
        // SAFETY: the caller promises that both are valid for `len` bytes.
        unsafe { to.add(i).write_volatile(from.add(i).read()) }
    }
    to
}

/// # Safety
/// As for the function of C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if to.addr().wrapping_sub(from.addr()) >= len {
        // SAFETY: copying upwards never reads a byte that it has written.
        return unsafe { memcpy(to, from, len) };
    }
    for i in (0..len).rev() {
        // SAFETY: the caller promises that both are valid for `len` bytes; the loop goes downwards, as `to` lies behind
        // `from`.
        unsafe { to.add(i).write_volatile(from.add(i).read()) }
    }
    to
}

/// # Safety
/// As for the function of C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    for i in 0..len {
        // SAFETY: the caller promises that `to` is valid for `len` bytes.
        unsafe { to.add(i).write_volatile(byte as u8) }
    }
    to
}

/// # Safety
/// As for the function of C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    for i in 0..len {
        // SAFETY: the caller promises that both are valid for `len` bytes.
        let (a, b) = unsafe { (a.add(i).read_volatile(), b.add(i).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// # Safety
/// As for the function of C.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    // SAFETY: the same contract.
    unsafe { memcmp(a, b, len) }
}
