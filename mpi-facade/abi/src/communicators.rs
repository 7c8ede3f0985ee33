//! Communicators: what they are, and calls that make and free them.

use crate::arguments::{InOut, Out, OutText, Text};
use core::ffi::c_int;
use pombo_mpi::comm::{create, create_group, duplicate, inquiry, intercommunicator, split_type};
use pombo_mpi::constants::*;
use pombo_mpi::group;

mpi! {
    fn MPI_Comm_rank(comm: Comm, rank: Out<c_int>) {
        out!(rank = create::rank(comm)?);
        Ok(())
    }

    fn MPI_Comm_size(comm: Comm, size: Out<c_int>) {
        out!(size = create::size(comm)?);
        Ok(())
    }

    fn MPI_Comm_compare(comm1: Comm, comm2: Comm, result: Out<c_int>) {
        out!(result = inquiry::compare(comm1, comm2)?);
        Ok(())
    }

    fn MPI_Comm_group(comm: Comm, group: Out<Group>) {
        out!(group = group::of_comm(comm)?);
        Ok(())
    }

    fn MPI_Comm_test_inter(comm: Comm, flag: Out<c_int>) {
        out!(flag = create::is_inter(comm)?.into());
        Ok(())
    }

    fn MPI_Comm_remote_size(comm: Comm, size: Out<c_int>) {
        out!(size = intercommunicator::remote_size(comm)?);
        Ok(())
    }

    fn MPI_Comm_remote_group(comm: Comm, group: Out<Group>) {
        out!(group = group::of_remote(comm)?);
        Ok(())
    }

    fn MPI_Intercomm_create(
        local_comm: Comm,
        local_leader: c_int,
        peer_comm: Comm,
        remote_leader: c_int,
        tag: c_int,
        newintercomm: Out<Comm>,
    ) {
        out!(newintercomm = intercommunicator::create(local_comm, local_leader, peer_comm, remote_leader, tag)?);
        Ok(())
    }

    fn MPI_Intercomm_merge(intercomm: Comm, high: c_int, newintracomm: Out<Comm>) {
        out!(newintracomm = intercommunicator::merge(intercomm, high != 0)?);
        Ok(())
    }

    fn MPI_Comm_get_parent(parent: Out<Comm>) {
        inquiry::check(MPI_COMM_WORLD)?;
        out!(parent = Comm::NULL);
        Ok(())
    }

    fn MPI_Comm_dup(comm: Comm, newcomm: Out<Comm>) {
        out!(newcomm = duplicate::duplicate(comm)?);
        Ok(())
    }

    fn MPI_Comm_dup_with_info(comm: Comm, info: Info, newcomm: Out<Comm>) {
        out!(newcomm = duplicate::duplicate_with_info(comm, info)?);
        Ok(())
    }

    fn MPI_Comm_idup(comm: Comm, newcomm: Out<Comm>, request: Out<Request>) {
        let (made, begun) = duplicate::start_duplicate(comm)?;
        out!(newcomm = made, request = begun);
        Ok(())
    }

    fn MPI_Comm_idup_with_info(comm: Comm, info: Info, newcomm: Out<Comm>, request: Out<Request>) {
        let (made, begun) = duplicate::start_duplicate_with_info(comm, info)?;
        out!(newcomm = made, request = begun);
        Ok(())
    }

    fn MPI_Comm_create(comm: Comm, group: Group, newcomm: Out<Comm>) {
        out!(newcomm = create_group::create(comm, group)?);
        Ok(())
    }

    fn MPI_Comm_create_group(comm: Comm, group: Group, tag: c_int, newcomm: Out<Comm>) {
        out!(newcomm = create_group::create_group(comm, group, tag)?);
        Ok(())
    }

    fn MPI_Comm_split(comm: Comm, color: c_int, key: c_int, newcomm: Out<Comm>) {
        out!(newcomm = create::split(comm, color, key)?);
        Ok(())
    }

    fn MPI_Comm_split_type(comm: Comm, split_type: c_int, key: c_int, info: Info, newcomm: Out<Comm>) {
        out!(newcomm = split_type::split_type(comm, split_type, key, info)?);
        Ok(())
    }

    fn MPI_Comm_free(comm: InOut<Comm>) {
        create::free(comm.get())?;
        out!(comm = Comm::NULL);
        Ok(())
    }

    fn MPI_Comm_disconnect(comm: InOut<Comm>) {
        create::disconnect(comm.get())?;
        out!(comm = Comm::NULL);
        Ok(())
    }

    fn MPI_Comm_set_name(comm: Comm, comm_name: Text) {
        inquiry::set_name(comm, comm_name.text())
    }

    fn MPI_Comm_get_name(comm: Comm, comm_name: OutText<{ MPI_MAX_OBJECT_NAME as usize }>, resultlen: Out<c_int>) {
        let name = inquiry::name(comm)?;
        out!(resultlen = comm_name.set_text(&name));
        Ok(())
    }

    fn MPI_Comm_set_info(comm: Comm, info: Info) {
        inquiry::set_info(comm, info)
    }

    fn MPI_Comm_get_info(comm: Comm, info_used: Out<Info>) {
        out!(info_used = inquiry::info(comm)?);
        Ok(())
    }
}
