//! While a scope is open the communicator cannot be used directly.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut comm = Comm::new(channel)?;
    let mut buffer = [0; 8];
    comm.scope(|scope| {
        //~^ E0499
        scope.irecv(Tag(1), &mut buffer)?;
        #[cfg(feature = "wrong")]
        let around = &mut comm;
        #[cfg(not(feature = "wrong"))]
        let around = scope;
        around.check_messages().map(drop)
    })
}
