//! The paper's operators (section 3.3): `&mut comm << (to, header, payload)` sends, `&mut comm >> (pattern, buffer)`
//! receives. Both return immediately, with the ticket or, as an error, with the buffer.

use super::port_mux::{OtherPorts, PortMux};
use super::ports::{Communicator, Port, PortView};
use super::scope::Scope;
use crate::channel::Channel;
use crate::config::Config;
use crate::error::Refused;
use crate::header::{Header, Peer};
use crate::memory::{Memory, Ticket};
use core::ops::{Shl, Shr};

macro_rules! operators {
    ([$($bounds:tt)*] $what:ty, $header:ty, $memory:ty) => {
        impl<$($bounds)*> Shl<(Peer, $header, <$memory as Memory>::Out)> for &mut $what {
            type Output = Result<Ticket, Refused<<$memory as Memory>::Out>>;

            /// Starts a send as [`Communicator::isend`].
            fn shl(self, (to, header, out): (Peer, $header, <$memory as Memory>::Out)) -> Self::Output {
                self.isend(to, header, out)
            }
        }

        impl<$($bounds)*> Shr<(<$header as Header>::Pattern, <$memory as Memory>::In)> for &mut $what {
            type Output = Result<Ticket, Refused<<$memory as Memory>::In>>;

            /// Posts a receive as [`Communicator::irecv`].
            fn shr(
                self,
                (pattern, into): (<$header as Header>::Pattern, <$memory as Memory>::In),
            ) -> Self::Output {
                self.irecv(pattern, into)
            }
        }
    };
}

operators!([H: Header, L: Channel, M: Memory, C: Config] Communicator<H, L, M, C>, H, M);
operators!(['a, H: Header, L: Channel, M: Memory, C: Config, R: OtherPorts<L>] PortView<'a, L, Port<H, M, C>, R>, H, M);
operators!(['a, 'buf, H: Header, L: Channel, C: Config, W: PortMux<L>] Scope<'a, 'buf, H, L, C, W>, H, crate::memory::Lent<'buf>);
