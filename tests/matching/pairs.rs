//! The same test over compositions in which any two policies of different families meet, and over all aspects on. The
//! composition with all aspects off is among the tests of `matching.rs`.

use crate::common::cases;
use crate::{act, credit, over_adversarial, profile};
use pombo_kernel::aspect::{
    Basic, Buffered, Canonical, Contiguous, Counting, Eager, Full, Heterogeneous, Homogeneous,
    NoDatatypes, ReceiverInitiated, Rendezvous, Static, Unbuffered, Unobserved,
};
use pombo_kernel::matching::{Adaptive, Binned, Linear};
use pombo_kernel::{Capacities, Composition};
use pombo_netdrivers::HeapStorage;
use proptest::prelude::*;
use zerocopy::little_endian::U32;

type Small = Capacities<512, 12, 64, 3>;

macro_rules! pairs {
    ($($name:ident: $transfer:ty, $matcher:ty, $storage:ty, $($rest:ty),+;)*) => {
        proptest! {
            #![proptest_config(cases(100))]
            $(
                #[test]
                fn $name(
                    acts in prop::collection::vec(act(3), 1..150),
                    profile in profile(),
                    seed in any::<u64>(),
                    places in 1..5u32,
                ) {
                    type Composed = Composition<U32, $transfer, $matcher, $storage, Small, $($rest),+>;
                    over_adversarial::<Composed>(3, &acts, profile, seed, credit(places));
                }
            )*
        }
    };
}

type Few = Adaptive<2, 3>;

pairs! {
    pair_1: Rendezvous<16>, Linear, Static, Unobserved, NoDatatypes, Heterogeneous, Unbuffered;
    pair_2: Rendezvous<16>, Binned<1>, Static, Counting, NoDatatypes, Homogeneous, Unbuffered;
    pair_3: Eager, Few, HeapStorage, Counting, NoDatatypes, Canonical, Buffered;
    pair_4: Rendezvous<16>, Linear, Static, Counting, Basic, Homogeneous, Unbuffered;
    pair_5: Eager, Binned<1>, HeapStorage, Counting, Basic, Heterogeneous, Buffered;
    pair_6: Rendezvous<16>, Few, Static, Unobserved, Basic, Canonical, Buffered;
    pair_7: Rendezvous<16>, Linear, Static, Counting, Contiguous, Canonical, Unbuffered;
    pair_8: Eager, Binned<1>, HeapStorage, Unobserved, Contiguous, Homogeneous, Buffered;
    pair_9: Eager, Few, HeapStorage, Unobserved, Contiguous, Heterogeneous, Buffered;
    pair_10: Eager, Linear, HeapStorage, Counting, Full, Heterogeneous, Buffered;
    pair_11: Eager, Binned<1>, Static, Unobserved, Full, Canonical, Unbuffered;
    pair_12: Rendezvous<16>, Few, HeapStorage, Unobserved, Full, Homogeneous, Unbuffered;
    all_on: ReceiverInitiated<16>, Few, HeapStorage, Counting, Full, Canonical, Buffered;
}
