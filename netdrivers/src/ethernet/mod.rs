//! Ranks on the hosts of one Ethernet segment, without IP. `no_std` with an allocator; Linux. A launcher uses it.
//!
//! Every node opens its seat at an interface ([`Ethernet::open`]) and publishes where it is; whoever starts the job
//! hands the table of all addresses round; then each joins ([`Opened::join`]). The place in the table is the node.
//! Two seats of one node, one for each [`Traffic`], give the devices for single nodes and for groups; their frames
//! never meet. Every node has a socket of its own, also where several share an interface, and a filter in the system
//! that passes only what is for it; so nobody's progress depends on another's.
//!
//! A frame goes out from where its parts lie, and is read in memory that is shared with the system, which puts it there
//! when it comes: to look for frames is no system call. Nodes of the same
//! host reach each other by its loopback interface, not by the segment; shared memory is better for that. What comes
//! from an interface that the table does not have for that node is counted and dropped: this keeps mistakes out, not
//! enemies, for whom there is authentication (`pombo-transport`).
//! Interfaces check a sum of 32 bits, which whoever writes to the segment makes as well: it does not count as a check.
//!
//! | bound | |
//! | --- | --- |
//! | frames taken at once | 32 |
//! | frames that wait for a poll | 640 where 1500 bytes are the longest, 112 with 9000, 32 with 65000: 1 MiB, or 2; beyond it they are lost, and counted |
//! | frames that wait to leave | what the line takes in 3 ms, 24 to what it grants of [`SEND_BYTES`]; beyond it the device is full |
//! | bytes of a frame | what the interfaces of all nodes carry |
//! | nodes | 65535 |
//!
//! An interface that is down is no error: frames are lost and counted, and when it is up again all goes on. One that is
//! taken away is [`ChannelError::Device`](pombo_kernel::ChannelError::Device) with ENXIO (6) for who sends;
//! [`Ethernet::interface`] names it. One whose MTU is lowered is the same with EMSGSIZE (90), and [`Ethernet::shrunk`]
//! says from what to what.

mod address;
mod device;
mod error;
mod filter;
mod frame;
mod interface;
mod lent;
mod line;
mod opened;
mod pace;
#[cfg(feature = "pnet")]
mod portable;
mod ring;
mod socket;
mod table;
mod tap;

pub use address::{Address, Mac};
pub use device::{Counts, Ethernet};
pub use error::EthernetError;
pub use frame::{ETHER_TYPE, Seat, Traffic};
pub use interface::{Interface, interfaces};
pub use lent::{FORBIDDEN, asked, lend};
pub use line::{Line, Packets};
pub use opened::Opened;
#[cfg(feature = "pnet")]
pub use portable::Portable;
pub use socket::{RECEIVE_BYTES, SEND_BYTES};
pub use tap::{Tap, Tapped};
