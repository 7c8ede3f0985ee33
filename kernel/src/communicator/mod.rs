//! The communicator: the queues of one header type over a channel. Source: the EPOS communication system, section 3.3.

mod completed_operation;
mod direct_receive;
mod engine;
mod facade_calls;
mod flow_control;
mod frame_tx;
mod inspection;
mod lent_buffers;
mod matched_probe;
mod operation;
mod peer_loss;
mod peer_state;
mod point_to_point;
mod port_mux;
mod ports;
mod post;
mod probe;
mod receive_path;
mod receiver_initiated;
mod remote_probes;
mod rendezvous;
mod scope;
mod send_copies;
mod send_path;
mod shift_operators;
mod state;

pub use completed_operation::{Completed, Peeked};
pub use direct_receive::Received;
pub use facade_calls::PointToPointExt;
pub use inspection::{Awaited, Inspect};
pub use point_to_point::PointToPoint;
pub use ports::{Communicator, Endpoint, Lengths, Limits, Port, PortView, Ports, Single};
pub use post::Mode;
pub use scope::{SCOPE_LOANS, Scope};
pub use send_copies::COPY_OVERHEAD;
pub use state::slot_bytes;
