//! A buffer that is lent to a scope must outlive the scope.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut comm = Comm::new(channel)?;
    let mut outer = [0; 8];
    comm.scope(|scope| {
        let mut inner = [0; 8];
        inner[0] = 1;
        #[cfg(feature = "wrong")]
        let buffer = &mut inner; //~ E0597
        #[cfg(not(feature = "wrong"))]
        let buffer = &mut outer;
        scope.irecv(Tag(1), buffer)?;
        scope.check_messages().map(drop)
    })
}
