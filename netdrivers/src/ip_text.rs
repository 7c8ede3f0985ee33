//! Addresses of IP as texts, by the system's functions: those of Rust's library bring its formatting along.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use pombo_kernel::text::{ToText, WriteText, fill};

unsafe extern "C" {
    fn inet_ntop(
        family: c_int,
        address: *const c_void,
        text: *mut c_char,
        len: u32,
    ) -> *const c_char;
    fn inet_pton(family: c_int, text: *const c_char, address: *mut c_void) -> c_int;
}

/// Bytes of the longest text, with the zero behind it.
const LONGEST: usize = 46;

/// An address, written as libc does: as `IpAddr` displays it, but for IPv6 addresses that hold one of IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpText(pub IpAddr);

impl ToText for IpText {
    fn put_text(&self, out: &mut dyn WriteText) {
        let mut text = [0_u8; LONGEST];
        let (family, bytes) = match self.0 {
            IpAddr::V4(address) => (libc::AF_INET, &address.octets()[..]),
            IpAddr::V6(address) => (libc::AF_INET6, &address.octets()[..]),
        };
        // SAFETY: the address has the bytes of its family, and the text has room for the longest and the zero behind it.
        let text = unsafe {
            let place = text.as_mut_ptr().cast();
            inet_ntop(family, bytes.as_ptr().cast(), place, LONGEST as u32);
            CStr::from_ptr(place)
        };
        out.write_text(text.to_str().unwrap_or_default());
    }
}

/// An address with a port, written as `SocketAddr` displays it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketText(pub SocketAddr);

impl ToText for SocketText {
    fn put_text(&self, out: &mut dyn WriteText) {
        let (ip, port) = (IpText(self.0.ip()), self.0.port());
        match self.0 {
            SocketAddr::V4(_) => fill!(out, "{}:{}", ip, port),
            SocketAddr::V6(address) if address.scope_id() == 0 => fill!(out, "[{}]:{}", ip, port),
            SocketAddr::V6(address) => fill!(out, "[{}%{}]:{}", ip, address.scope_id(), port),
        }
    }
}

/// Parses an address of either version.
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    let mut line = [0_u8; LONGEST];
    // Behind the longest text there is a zero; one within it would hide what follows.
    for (place, byte) in line.iter_mut().zip(text.bytes()) {
        *place = byte;
    }
    if text.len() >= LONGEST || text.bytes().any(|byte| byte == 0) {
        return None;
    }
    let (mut four, mut six) = ([0_u8; 4], [0_u8; 16]);
    // SAFETY: the text ends with a zero, and each place has the bytes of its family.
    let (is_four, is_six) = unsafe {
        let text = line.as_ptr().cast();
        (
            inet_pton(libc::AF_INET, text, four.as_mut_ptr().cast()) == 1,
            inet_pton(libc::AF_INET6, text, six.as_mut_ptr().cast()) == 1,
        )
    };
    match (is_four, is_six) {
        (true, _) => Some(Ipv4Addr::from(four).into()),
        (_, true) => Some(Ipv6Addr::from(six).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std::string::{String, ToString};
    use core::net::SocketAddrV6;
    use pombo_kernel::text::display_as_text;

    display_as_text! { IpText }
    display_as_text! { SocketText }

    #[test]
    fn texts_are_those_of_rust() {
        for text in [
            "127.0.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "2001:db8::ff00:42:8329",
            "1:0:0:2:0:0:0:3",
            "1:2:3:4:5:6:7:8",
            "1:0:2:3:4:5:6:7",
            "::ffff:192.0.2.128",
        ] {
            let address: IpAddr = text.parse().expect(text);
            assert_eq!(parse_ip(text), Some(address), "{text}");
            assert_eq!(IpText(address).to_string(), address.to_string());
            let socket = SocketAddr::new(address, 4711);
            assert_eq!(SocketText(socket).to_string(), socket.to_string());
        }
        let scoped = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 80, 0, 3).into();
        assert_eq!(SocketText(scoped).to_string(), scoped.to_string());
    }

    #[test]
    fn what_is_no_address() {
        let long = String::from_utf8([b'1'; 60].into()).expect("digits");
        for text in [
            "",
            "localhost",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.256",
            "01.2.3.4",
            "1.2.3.4 ",
            "1.2.3.4\0",
            ":::",
            "::g",
            "[::1]",
            "::1%1",
            "1:2:3:4:5:6:7",
            "eth0",
            &long,
        ] {
            assert_eq!(parse_ip(text), None, "{text}");
            assert!(text.parse::<IpAddr>().is_err(), "{text}");
        }
    }
}
