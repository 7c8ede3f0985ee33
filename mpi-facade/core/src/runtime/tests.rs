//! Tests which calls get the world, in a world of one rank.

extern crate std;

use super::world::{self, World};
use super::{callback, lock_free_queries, phase};
use crate::buffered::{self, Attached, BufferOf};
use crate::collective::{self, Collective};
use crate::comm::{create, duplicate};
use crate::constants::*;
use crate::errhandler;
use crate::error::{Callback, Class, CommError, Error};
use crate::init;
use crate::p2p;
use crate::request;
use crate::request_some;
use crate::status::Status;
use core::ptr::null_mut;
use std::string::ToString;
use std::thread;

const W: Comm = MPI_COMM_WORLD;

/// A process has one world, so these are steps of one test.
#[test]
fn a_world_from_its_beginning_to_its_end() {
    assert_eq!(error(create::rank(W)), Error::NotInitialised);
    assert_eq!(error(lock_free_queries::threads()), Error::NotInitialised);
    let threads = init::init(MPI_THREAD_MULTIPLE).expect("a world of one");
    assert_eq!(threads, MPI_THREAD_SERIALIZED);
    for is_shared in [false, true] {
        if is_shared {
            world::share();
        }
        inside(Callback::Operation);
        inside(Callback::Attribute);
        inside(Callback::ErrorHandler);
        a_callback_inside_a_callback();
        between_calls();
        a_call_inside_a_call_is_named();
    }
    threads_take_turns();
    world::unshare();
    threads_at_once_are_refused();
    a_callback_is_its_threads();
    between_calls();
    init::finalize().expect("nobody else is in this job");
    assert_eq!(error(create::rank(W)), Error::Finalised);
}

/// Returns the error of a failed call.
fn error<R: core::fmt::Debug>(outcome: Result<R, CommError>) -> Error {
    outcome.expect_err("it must be refused").error
}

/// Runs a callback inside a call.
fn call(callback: Callback, function: impl FnOnce()) {
    let called = world::with(|world| {
        callback::run(callback, &mut world.objects, function);
        Ok(())
    });
    called.expect("no other call is under way");
}

/// Checks that local functions work, and that the others fail with the callback's name and have no effect.
fn inside(callback: Callback) {
    call(callback, || {
        local_functions_work();
        what_any_thread_may_ask_is_answered();
        let refused = Error::InCallback { callback };
        let attached = Attached {
            address: null_mut(),
            size: 1,
        };
        let (mut null, mut status) = (Request::NULL, Status::EMPTY);
        assert_eq!(error(p2p::probe(0, 1, W)), refused);
        assert_eq!(error(p2p::iprobe(0, 1, W)), refused);
        assert_eq!(error(request::wait(&mut null, &mut status)), refused);
        assert_eq!(error(request::test(&mut null, &mut status)), refused);
        assert_eq!(error(request_some::cancel(null)), refused);
        assert_eq!(
            error(buffered::attach(BufferOf::Process, attached)),
            refused
        );
        assert_eq!(error(buffered::flush(BufferOf::Process)), refused);
        assert_eq!(error(collective::barrier(W).run()), refused);
        assert_eq!(error(collective::barrier(W).start()), refused);
        assert_eq!(error(duplicate::duplicate(W)), refused);
        assert_eq!(error(create::free(W)), refused);
        assert_eq!(error(init::finalize()), refused);
        assert!(world::with_alone(|_| ()).is_none());
        world::if_free(|_| panic!("the call has it"));
        // The error goes to the communicator's handler, which the callback can still look up.
        let code = errhandler::raise("MPI_Probe", refused.into());
        assert_eq!(code, Class::Other as i32);
        assert!(refused.to_string().contains(callback.noun()), "{refused}");
    });
    assert_eq!(
        p2p::iprobe(0, 1, W).map_err(|failure| failure.error),
        Ok(None)
    );
}

fn local_functions_work() {
    let (rank, size) = (create::rank(W), create::size(W));
    assert_eq!((rank.ok(), size.ok()), (Some(0), Some(1)));
    for comm in [W, MPI_COMM_SELF] {
        errhandler::set_handler(comm, MPI_ERRORS_RETURN).expect("a local function");
        assert_eq!(errhandler::get_handler(comm).ok(), Some(MPI_ERRORS_RETURN));
    }
    let unknown = error(create::rank(Comm::NULL));
    assert_eq!(unknown.class(), Class::Comm);
}

fn what_any_thread_may_ask_is_answered() {
    assert_eq!(
        lock_free_queries::threads().ok(),
        Some(MPI_THREAD_SERIALIZED)
    );
    assert_eq!(lock_free_queries::is_main_thread().ok(), Some(true));
    assert_eq!(phase::phase(), phase::Phase::Running);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            (
                lock_free_queries::threads().ok(),
                lock_free_queries::is_main_thread().ok(),
            )
        });
        let said = other.join().expect("it has only asked");
        assert_eq!(said, (Some(MPI_THREAD_SERIALIZED), Some(false)));
    });
}

/// Checks that after `MPI_Reduce_local` in an operation the inner callback has ended and the outer one has not.
fn a_callback_inside_a_callback() {
    let seen = |callback| error(p2p::probe(0, 1, W)) == Error::InCallback { callback };
    call(Callback::Attribute, || {
        let inner = world::local(|objects| {
            callback::run(Callback::Operation, objects, || {
                local_functions_work();
                assert!(seen(Callback::Operation));
            });
            Ok(())
        });
        inner.expect("a local function");
        local_functions_work();
        assert!(seen(Callback::Attribute));
    });
}

/// Checks that a callback outside of calls may call all of MPI.
fn between_calls() {
    let comm = duplicate::duplicate(W).expect("nobody else is in it");
    collective::barrier(comm)
        .run()
        .expect("nobody else is in it");
    create::free(comm).expect("it was made");
}

/// Checks a signal handler on a thread that has the world.
fn a_call_inside_a_call_is_named() {
    let inner = world::with(|_| {
        assert_eq!(error(create::rank(W)), Error::Overlapping);
        Ok(p2p::iprobe(0, 1, W))
    });
    assert_eq!(error(inner.expect("the outer one")), Error::Overlapping);
}

/// Checks that another thread is in no callback, and that its error says what is wrong.
fn a_callback_is_its_threads() {
    call(Callback::Operation, || {
        thread::scope(|scope| {
            let other = scope.spawn(|| error(create::rank(W)));
            assert_eq!(other.join().ok(), Some(Error::Overlapping));
        });
    });
}

/// Counts a call; returns how many there were before it.
fn count(world: &mut World) -> Result<u64, CommError> {
    let before = world.sent.0;
    // If calls did not exclude each other, another thread would enter here.
    core::hint::spin_loop();
    world.sent.0 = before + 1;
    Ok(before)
}

/// Checks that a thread either has the world alone or is refused by name, also while a callback may call.
fn threads_at_once_are_refused() {
    let before = world::with(count).expect("a turn");
    let counted = || {
        let calls = (0..5_000).map(|_| world::with(count));
        let outcomes = calls.map(|outcome| outcome.map_err(|failure| failure.error));
        let mut had = 0;
        for outcome in outcomes {
            match outcome {
                Ok(_) => had += 1,
                Err(error) => assert_eq!(error, Error::Overlapping),
            }
        }
        had
    };
    let had: u64 = thread::scope(|scope| {
        let others = [0; 3].map(|_| scope.spawn(counted));
        let lent = world::with(|world| Ok(world.lend(counted))).unwrap_or(0);
        let others = others.map(|other| other.join().expect("no other error"));
        lent + others.iter().sum::<u64>()
    });
    assert!(had > 0);
    let after = world::with(count).expect("a turn");
    assert_eq!(after, before + had + 1);
}

/// Checks that every thread gets the world through the lock, one at a time.
fn threads_take_turns() {
    const TURNS: u64 = 5_000;
    let before = world::with(count).expect("a turn");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    world::with(count).expect("a turn");
                    local_functions_work();
                }
            });
        }
        // The other threads wait for the lock meanwhile.
        (0..50).for_each(|_| call(Callback::Operation, local_functions_work));
    });
    let after = world::with(count).expect("a turn");
    assert_eq!(after, before + 4 * TURNS + 1);
}
