//! Which function of a library a thread is in and where the program has called it: from the return addresses on the
//! stack, so that it costs nothing until somebody asks.

use crate::fixed_string::{Text, text};
use core::ffi::{CStr, c_int, c_void};
use core::ptr::null_mut;
use pombo_kernel::text::{Hexadecimal, fields};

/// A call on this thread's stack.
#[derive(Clone, Default)]
pub struct CallSite {
    /// The exported name of the function that was called.
    pub function: Text<64>,
    /// The caller: the name of its file and the offset there, such as `heat+0x12ab`, as `addr2line -e heat 0x12ab`
    /// takes it. For a program at a fixed address the offset is from that address.
    pub caller: Text<128>,
}

/// The deepest stack that is searched.
const FRAMES: usize = 64;

/// Returns the innermost call of a function whose exported name `is_entry` accepts. Returns `None` if there is none, or
/// the system has no unwinder.
#[cold]
pub fn call_site(is_entry: impl Fn(&str) -> bool) -> Option<CallSite> {
    let mut frames = [null_mut(); FRAMES];
    let depth = depth(&mut frames)?;
    let (function, caller) = frames
        .get(..depth)?
        .windows(2)
        .filter_map(|pair| Some((symbol(pair[0])?, pair[1])))
        .find(|(name, _)| is_entry(name))?;
    Some(CallSite {
        function: function.into(),
        caller: place(caller).unwrap_or_default(),
    })
}

/// Writes the return addresses of this thread's calls, the innermost first, and returns their number.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn depth(frames: &mut [*mut c_void; FRAMES]) -> Option<usize> {
    // SAFETY: the array has that many places. The function may allocate, and so must not run in a signal handler, where
    // nothing calls this.
    let found = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    usize::try_from(found).ok().filter(|depth| *depth > 0)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn depth(_: &mut [*mut c_void; FRAMES]) -> Option<usize> {
    None
}

/// Returns the exported name of the function with this return address.
fn symbol(address: *mut c_void) -> Option<&'static str> {
    let found = lookup(address)?;
    name_at(found.dli_sname)
}

fn place(address: *mut c_void) -> Option<Text<128>> {
    let found = lookup(address)?;
    let file = name_at(found.dli_fname)?;
    let name = fields(file, b'/').last().unwrap_or(file);
    let offset = before(address).addr().wrapping_sub(found.dli_fbase.addr());
    Some(text!("{}+0x{}", name, Hexadecimal(offset as u64, 1)))
}

/// Returns an address inside the call: the one after it may belong to the next function.
fn before(address: *mut c_void) -> *mut c_void {
    address.wrapping_byte_sub(1)
}

fn lookup(address: *mut c_void) -> Option<libc::Dl_info> {
    let mut found = libc::Dl_info {
        dli_fname: null_mut(),
        dli_fbase: null_mut(),
        dli_sname: null_mut(),
        dli_saddr: null_mut(),
    };
    // SAFETY: the function only looks the address up, and fills the place.
    match unsafe { libc::dladdr(before(address), &raw mut found) } {
        0 => None,
        _ => Some(found),
    }
}

fn name_at(of: *const core::ffi::c_char) -> Option<&'static str> {
    if of.is_null() {
        return None;
    }
    // SAFETY: `dladdr` returns strings of the loaded object, which ends with a zero byte and stays loaded: it is on this
    // thread's stack.
    unsafe { CStr::from_ptr(of) }.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_nobody_called_has_no_site() {
        assert!(call_site(|name| name == "no such function").is_none());
    }
}
