//! Macros for methods of [`Channel`](crate::Channel) and [`Network`](crate::Network) that an implementation only names:
//! the defaults of a driver, and the forwarded methods of a wrapper. The traits have no default methods, so a wrapper
//! that forgets one does not compile, and its own methods stand out.

/// Implements methods of a [`Channel`](crate::Channel) for which a driver has no implementation of its own:
/// `supports_single_copy` and `favours_early_data` return false, `set_corked` holds nothing back, `poll_with` polls, `wait_timeout` waits as at
/// an early `idle`, which does not sleep, `wait_sources` returns `None`, and `wait_with` waits for a short time.
///
/// A wrapper [forwards](crate::forward_channel!) them instead.
#[macro_export]
macro_rules! channel_defaults {
    ($($method:ident),+ $(,)?) => {
        $($crate::channel_defaults! { @ $method })+
    };
    (@ supports_single_copy) => {
        #[inline]
        fn supports_single_copy(&self, _to: $crate::Peer, _len: usize, _both_ways: bool) -> bool {
            false
        }
    };
    (@ favours_early_data) => {
        #[inline]
        fn favours_early_data(&self, _to: $crate::Peer) -> bool {
            false
        }
    };
    (@ set_corked) => {
        #[inline]
        fn set_corked(&mut self, _on: bool) {}
    };
    (@ poll_with) => {
        #[inline]
        fn poll_with(
            &mut self,
            handler: &mut impl $crate::channel::FrameHandler,
        ) -> Result<bool, $crate::ChannelError> {
            $crate::Channel::poll(self, |event| handler.handle(event))
        }
    };
    (@ wait_timeout) => {
        fn wait_timeout(
            &mut self,
            idle: u32,
            _nanoseconds: u64,
        ) -> Result<(), $crate::ChannelError> {
            $crate::Channel::wait(self, idle.min(1))
        }
    };
    (@ wait_sources) => {
        fn wait_sources(&mut self) -> Option<$crate::channel::WaitSet> {
            None
        }
    };
    (@ wait_with) => {
        fn wait_with(
            &mut self,
            idle: u32,
            other: $crate::channel::WaitSet,
        ) -> Result<(), $crate::ChannelError> {
            let nanoseconds = other.timeout.min($crate::channel::SHORT_SLEEP);
            $crate::Channel::wait_timeout(self, idle, nanoseconds)
        }
    };
}

/// Implements methods of a [`Network`](crate::Network) for which a driver has no implementation of its own:
/// `is_checked` returns false, `set_corked` holds nothing back, and `wait_sources` returns `None`.
///
/// A wrapper [forwards](crate::forward_network!) them instead.
#[macro_export]
macro_rules! network_defaults {
    ($($method:ident),+ $(,)?) => {
        $($crate::network_defaults! { @ $method })+
    };
    (@ is_checked) => {
        #[inline]
        fn is_checked(&self) -> bool {
            false
        }
    };
    (@ set_corked) => {
        #[inline]
        fn set_corked(&mut self, _on: bool) {}
    };
    (@ wait_sources) => {
        fn wait_sources(&mut self) -> Option<$crate::channel::WaitSet> {
            None
        }
    };
}

/// Forwards methods of a [`Channel`](crate::Channel) to a field of a wrapper, which writes only its own methods; a
/// missing method does not compile. For an enum, written as `(Way::Short | Way::Long)`, the methods go to the content
/// of the variant.
///
/// ```
/// use pombo_kernel::channel::{Channel, ChannelError, Event};
///
/// /// Counts its polls.
/// struct Polled<L> {
///     channel: L,
///     polls: u64,
/// }
///
/// impl<L: Channel> Channel for Polled<L> {
///     type Arrival<'a> = L::Arrival<'a>;
///
///     pombo_kernel::forward_channel! {
///         channel: me, peers, #[inline] limit, supports_single_copy, favours_early_data, #[inline] try_send, set_corked, wait,
///         wait_timeout, wait_sources, wait_with, now
///     }
///     pombo_kernel::channel_defaults! { poll_with }
///
///     fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
///         self.polls += 1;
///         self.channel.poll(f)
///     }
/// }
/// ```
///
/// A missing method does not compile:
///
/// ```compile_fail,E0046
/// # use pombo_kernel::channel::{Channel, ChannelError, Event};
/// struct Wrapper<L>(L);
///
/// impl<L: Channel> Channel for Wrapper<L> {
///     type Arrival<'a> = L::Arrival<'a>;
///
///     pombo_kernel::forward_channel! {
///         0: me, peers, limit, supports_single_copy, favours_early_data, try_send, set_corked, poll, poll_with, wait, wait_timeout,
///         wait_sources, now
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_channel {
    ($to:tt: $($(#[$attribute:meta])* $method:ident),+ $(,)?) => {
        $($crate::forward_channel! { @ $method $to [$(#[$attribute])*] })+
    };
    (@ me $($to:tt)+) => { $crate::__forward! { $($to)+ me(&self) -> $crate::Peer } };
    (@ peers $($to:tt)+) => { $crate::__forward! { $($to)+ peers(&self) -> usize } };
    (@ limit $($to:tt)+) => { $crate::__forward! { $($to)+ limit(&self, to: $crate::Peer) -> usize } };
    (@ supports_single_copy $($to:tt)+) => {
        $crate::__forward! { $($to)+ supports_single_copy(&self, to: $crate::Peer, len: usize, both_ways: bool) -> bool }
    };
    (@ favours_early_data $($to:tt)+) => {
        $crate::__forward! { $($to)+ favours_early_data(&self, to: $crate::Peer) -> bool }
    };
    (@ try_send $($to:tt)+) => {
        $crate::__forward! { $($to)+
            try_send(&mut self, to: $crate::Peer, cookie: $crate::Cookie, parts: &[$crate::Part<'_>])
                -> Result<$crate::Sent, $crate::ChannelError>
        }
    };
    (@ set_corked $($to:tt)+) => { $crate::__forward! { $($to)+ set_corked(&mut self, on: bool) } };
    (@ poll $($to:tt)+) => {
        $crate::__forward! { $($to)+
            poll(&mut self, f: impl FnMut($crate::Event<Self::Arrival<'_>>)) -> Result<bool, $crate::ChannelError>
        }
    };
    (@ poll_with $($to:tt)+) => {
        $crate::__forward! { $($to)+
            poll_with(&mut self, handler: &mut impl $crate::channel::FrameHandler) -> Result<bool, $crate::ChannelError>
        }
    };
    (@ wait $($to:tt)+) => {
        $crate::__forward! { $($to)+ wait(&mut self, idle: u32) -> Result<(), $crate::ChannelError> }
    };
    (@ wait_timeout $($to:tt)+) => {
        $crate::__forward! { $($to)+
            wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), $crate::ChannelError>
        }
    };
    (@ wait_sources $($to:tt)+) => {
        $crate::__forward! { $($to)+ wait_sources(&mut self) -> Option<$crate::channel::WaitSet> }
    };
    (@ wait_with $($to:tt)+) => {
        $crate::__forward! { $($to)+
            wait_with(&mut self, idle: u32, other: $crate::channel::WaitSet) -> Result<(), $crate::ChannelError>
        }
    };
    (@ now $($to:tt)+) => { $crate::__forward! { $($to)+ now(&self) -> u64 } };
}

/// Forwards methods of a [`Network`](crate::Network) to a field, or to the network in an enum's variant, as
/// [`forward_channel!`](crate::forward_channel!) does.
#[macro_export]
macro_rules! forward_network {
    ($to:tt: $($(#[$attribute:meta])* $method:ident),+ $(,)?) => {
        $($crate::forward_network! { @ $method $to [$(#[$attribute])*] })+
    };
    (@ is_checked $($to:tt)+) => { $crate::__forward! { $($to)+ is_checked(&self) -> bool } };
    (@ me $($to:tt)+) => { $crate::__forward! { $($to)+ me(&self) -> $crate::Peer } };
    (@ peers $($to:tt)+) => { $crate::__forward! { $($to)+ peers(&self) -> usize } };
    (@ mtu $($to:tt)+) => { $crate::__forward! { $($to)+ mtu(&self) -> usize } };
    (@ transmit $($to:tt)+) => {
        $crate::__forward! { $($to)+
            transmit(&mut self, to: $crate::Peer, parts: &[$crate::Part<'_>]) -> Result<(), $crate::ChannelError>
        }
    };
    (@ set_corked $($to:tt)+) => { $crate::__forward! { $($to)+ set_corked(&mut self, on: bool) } };
    (@ poll $($to:tt)+) => {
        $crate::__forward! { $($to)+
            poll(&mut self, f: impl FnMut(Self::Frame<'_>)) -> Result<bool, $crate::ChannelError>
        }
    };
    (@ wait $($to:tt)+) => {
        $crate::__forward! { $($to)+ wait(&mut self, idle: u32, until: u64) -> Result<(), $crate::ChannelError> }
    };
    (@ wait_sources $($to:tt)+) => {
        $crate::__forward! { $($to)+ wait_sources(&mut self) -> Option<$crate::channel::WaitSet> }
    };
    (@ now $($to:tt)+) => { $crate::__forward! { $($to)+ now(&self) -> u64 } };
}

/// Defines a method that calls the same method of a field, or of the content of an enum's variants.
#[doc(hidden)]
#[macro_export]
macro_rules! __forward {
    ($to:tt [$($attribute:tt)*]
        $method:ident(&mut $self:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?
    ) => {
        $($attribute)*
        fn $method(&mut $self $(, $argument: $type)*) $(-> $result)? {
            $crate::__forward! { @ $to $self.$method($($argument),*) }
        }
    };
    ($to:tt [$($attribute:tt)*]
        $method:ident(&$self:ident $(, $argument:ident: $type:ty)*) -> $result:ty
    ) => {
        $($attribute)*
        fn $method(&$self $(, $argument: $type)*) -> $result {
            $crate::__forward! { @ $to $self.$method($($argument),*) }
        }
    };
    (@ ($($variant:path)|+) $self:ident.$method:ident $arguments:tt) => {
        match $self {
            $($variant(inner) => inner.$method $arguments,)+
        }
    };
    (@ $field:tt $self:ident.$method:ident $arguments:tt) => {
        $self.$field.$method $arguments
    };
}
