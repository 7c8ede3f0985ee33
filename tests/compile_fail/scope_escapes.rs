//! A scope cannot leave its call, not even by being forgotten.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut comm = Comm::new(channel)?;
    let mut buffer = [0; 8];
    let mut tickets = Vec::new();
    #[cfg(feature = "wrong")]
    let mut scopes = Vec::new();
    comm.scope(|scope| {
        tickets.push(scope.irecv(Tag(1), &mut buffer)?);
        #[cfg(feature = "wrong")]
        scopes.push(scope); //~ E0521
        Ok::<_, Error>(())
    })?;
    drop(tickets);
    Ok(())
}
