#![cfg_attr(panic = "abort", no_std)]
#[cfg(panic = "abort")]
extern crate alloc;
#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { unsafe { libc::abort() } }
#[cfg(panic = "abort")]
struct A;
#[cfg(panic = "abort")]
unsafe impl core::alloc::GlobalAlloc for A {
    unsafe fn alloc(&self, l: core::alloc::Layout) -> *mut u8 { unsafe { libc::malloc(l.size()) as _ } }
    unsafe fn dealloc(&self, p: *mut u8, _: core::alloc::Layout) { unsafe { libc::free(p as _) } }
}
#[cfg(panic = "abort")]
#[global_allocator]
static G: A = A;
#[unsafe(no_mangle)]
pub extern "C" fn MPI_X(n: i32) -> i32 { let mut v = [0u8;4]; v[n as usize] = 1; v[0] as i32 }
