//! Replacements of parts of the Rust standard library: the allocator, the panic handler, and a symbol that precompiled
//! code refers to. They exist only in a library that aborts on panic, so that C programs link it without Rust.

use core::alloc::{GlobalAlloc, Layout};
use core::fmt::{self, Write};
use core::panic::PanicInfo;
use core::ptr::null_mut;

// The crate `libc` leaves this to the standard library as soon as any package of the build enables its feature `std`.
#[link(name = "c")]
unsafe extern "C" {}

/// The C library's allocator.
struct Malloc;

#[global_allocator]
static MALLOC: Malloc = Malloc;

/// The alignment in bytes of all memory from `malloc` on 64-bit Linux.
const MALLOC_ALIGN: usize = 16;

// SAFETY: `malloc` and its family give memory of the size asked for, aligned to MALLOC_ALIGN, and
// `posix_memalign` to any larger power of two; `free` and `realloc` take memory from either.
unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN {
            // SAFETY: malloc has no preconditions.
            return unsafe { libc::malloc(layout.size()) }.cast();
        }
        let mut memory = null_mut();
        // SAFETY: the alignment is a power of two above 16, so it is a multiple of a pointer's size.
        match unsafe { libc::posix_memalign(&mut memory, layout.align(), layout.size()) } {
            0 => memory.cast(),
            _ => null_mut(),
        }
    }

    // Without the fast paths the trait's own forms do: each function of the C library takes room where it is named.
    #[cfg(feature = "fast-paths")]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN {
            // SAFETY: calloc has no preconditions.
            return unsafe { libc::calloc(1, layout.size()) }.cast();
        }
        // SAFETY: the layout is the one passed in, which the trait requires to be valid; the memory has its size.
        unsafe {
            let memory = self.alloc(layout);
            if !memory.is_null() {
                memory.write_bytes(0, layout.size());
            }
            memory
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the trait requires that the memory comes from this allocator.
        unsafe { libc::free(memory.cast()) }
    }

    #[cfg(feature = "fast-paths")]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN {
            // SAFETY: the trait requires that the memory comes from this allocator.
            return unsafe { libc::realloc(memory.cast(), size) }.cast();
        }
        // SAFETY: the trait requires that `size`, rounded up to the alignment, fits an isize; both blocks hold as many
        // bytes as are copied, and they are distinct.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                memory.copy_to_nonoverlapping(moved, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            moved
        }
    }
}

/// Standard error without buffering. Write errors are ignored, as there is nowhere to report them.
struct Stderr;

impl Write for Stderr {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: the bytes are valid until the call returns.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    #[cfg(feature = "panic-locations")]
    let _ = writeln!(Stderr, "pombo: error in the MPI library itself: {info}");
    #[cfg(not(feature = "panic-locations"))]
    let _ = (
        info,
        Stderr.write_str("pombo: error in the MPI library itself\n"),
    );
    // SAFETY: abort has no preconditions.
    unsafe { libc::abort() }
}

// Precompiled parts of `core` name this function in their unwind tables. Nothing unwinds here, so it is never called.
// It is weak and hidden: a Rust program that links this library uses its own.
core::arch::global_asm!(
    ".weak rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    ".8byte 0",
);
