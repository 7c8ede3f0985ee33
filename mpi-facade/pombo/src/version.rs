//! The version, as every tool of the launcher says it behind its own name, for people and for scripts.

/// Name, version, and the versions of the standard and of its ABI.
pub(crate) const VERSION: &str =
    concat!("(Pombo) ", env!("CARGO_PKG_VERSION"), ", MPI 5.0, ABI 1.0");

#[cfg(test)]
mod tests {
    use super::VERSION;
    use pombo_mpi::constants::{MPI_ABI_SUBVERSION, MPI_ABI_VERSION, MPI_SUBVERSION, MPI_VERSION};

    #[test]
    fn it_is_that_of_the_library() {
        let standard = format!(", MPI {MPI_VERSION}.{MPI_SUBVERSION}");
        let abi = format!(", ABI {MPI_ABI_VERSION}.{MPI_ABI_SUBVERSION}");
        assert!(VERSION.ends_with(&(standard + &abi)), "{VERSION}");
    }
}
