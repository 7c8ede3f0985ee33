//! Somebody on the segment who does not belong to the job.

use crate::segment::JOB;
use pombo_netdrivers::ethernet::{Address, ETHER_TYPE};

/// Who sends what it likes, from its own place on the segment.
pub(crate) struct Stranger {
    fd: i32,
    to: libc::sockaddr_ll,
}

impl Stranger {
    /// At that interface.
    pub(crate) fn at(interface: &str) -> Self {
        let name = std::ffi::CString::new(interface).expect("a name");
        // SAFETY: the name is a C string; no other memory is passed.
        let (fd, index) = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_PACKET, kind, 0);
            (fd, libc::if_nametoindex(name.as_ptr()))
        };
        assert!(fd >= 0 && index > 0);
        let to = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: ETHER_TYPE.to_be(),
            sll_ifindex: index as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 6,
            sll_addr: [0; 8],
        };
        Stranger { fd, to }
    }

    /// A frame with Ethernet's header. False: the system did not take it.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        // SAFETY: frame and address are valid for their sizes, and only read.
        let sent = unsafe {
            libc::sendto(
                self.fd,
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const self.to).cast(),
                size_of_val(&self.to) as u32,
            )
        };
        sent == frame.len() as isize
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { libc::close(self.fd) };
    }
}

/// What a frame says, to be changed by who forges.
#[derive(Clone, Copy)]
pub(crate) struct Forged {
    pub(crate) to: [u8; 6],
    pub(crate) from: [u8; 6],
    pub(crate) kind: [u8; 2],
    pub(crate) job: u16,
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) len: u16,
}

impl Forged {
    /// As that peer would send it to another.
    pub(crate) fn as_peer(
        source: u16,
        destination: u16,
        addresses: &[Address],
        len: usize,
    ) -> Self {
        Forged {
            to: addresses[usize::from(destination)].mac.octets(),
            from: addresses[usize::from(source)].mac.octets(),
            kind: [0x11, 0],
            job: JOB,
            source,
            destination,
            len: len as u16,
        }
    }

    pub(crate) fn with(&self, bytes: &[u8]) -> Vec<u8> {
        let words = [self.job, self.source, self.destination, self.len];
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let ether_type = ETHER_TYPE.to_be_bytes();
        [
            &self.to[..],
            &self.from,
            &ether_type,
            &self.kind,
            &words,
            bytes,
        ]
        .concat()
    }
}
