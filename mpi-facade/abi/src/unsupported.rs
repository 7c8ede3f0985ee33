//! The functions that are exported but not implemented. When one is implemented, its name is deleted here.

use core::arch::naked_asm;
use core::ffi::c_int;
use pombo_mpi::errhandler;
use pombo_mpi::error::Error;

/// Raises the error of the function with this number. There are hundreds, so each is only its number and a jump.
#[cold]
extern "C" fn unsupported(number: u32) -> c_int {
    let name = NAMES.split(' ').nth(number as usize).unwrap_or_default();
    errhandler::raise(name, Error::Unsupported { name }.into())
}

/// Loads the number into the register of the first argument.
#[cfg(target_arch = "x86_64")]
macro_rules! number {
    () => {
        "mov edi, {number}"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! number {
    () => {
        "mov w0, #{number}"
    };
}

/// Exports functions under both names. Their arguments are ignored, as C's calling conventions allow.
macro_rules! unsupported {
    ($($name:ident)*) => {
        /// The names, in the order of the numbers.
        const NAMES: &str = concat!($(stringify!($name), " ",)*);

        #[allow(non_camel_case_types, reason = "the standard's names")]
        enum Number {
            $($name),*
        }

        $(const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            extern "C" fn profiled() {
                naked_asm!(number!(), jump!(), number = const Number::$name as u32, to = sym unsupported)
            }

            replaceable! { $name profiled }
        };)*
    };
}

unsupported! {
    // Initialisation and environment.
    MPI_Abi_get_fortran_booleans MPI_Abi_get_fortran_info MPI_Abi_get_info
    MPI_Abi_set_fortran_booleans MPI_Abi_set_fortran_info MPI_Get_hw_resource_info

    // Error handling.
    MPI_Add_error_class MPI_Add_error_code MPI_Add_error_string MPI_Comm_call_errhandler
    MPI_Comm_create_errhandler MPI_Errhandler_free MPI_File_call_errhandler
    MPI_File_create_errhandler MPI_File_get_errhandler MPI_File_set_errhandler
    MPI_Remove_error_class MPI_Remove_error_code MPI_Remove_error_string MPI_Session_call_errhandler
    MPI_Session_create_errhandler MPI_Session_get_errhandler MPI_Session_set_errhandler
    MPI_Win_call_errhandler MPI_Win_create_errhandler MPI_Win_get_errhandler MPI_Win_set_errhandler

    // Point-to-point.
    MPI_Bsend_init MPI_Bsend_init_c MPI_Buffer_iflush
    MPI_Isendrecv MPI_Isendrecv_c MPI_Isendrecv_replace
    MPI_Isendrecv_replace_c MPI_Parrived MPI_Pready MPI_Pready_list
    MPI_Pready_range MPI_Precv_init MPI_Precv_init_c MPI_Psend_init MPI_Psend_init_c MPI_Recv_init
    MPI_Recv_init_c MPI_Rsend_init MPI_Rsend_init_c MPI_Send_init MPI_Send_init_c
    MPI_Sendrecv_replace MPI_Sendrecv_replace_c MPI_Ssend_init MPI_Ssend_init_c

    // Requests and statuses.
    MPI_Grequest_complete MPI_Grequest_start MPI_Start MPI_Startall

    // Datatypes.
    MPI_Pack MPI_Pack_c MPI_Pack_external MPI_Pack_external_c MPI_Pack_external_size
    MPI_Pack_external_size_c MPI_Pack_size MPI_Pack_size_c MPI_Type_commit MPI_Type_contiguous
    MPI_Type_contiguous_c MPI_Type_create_darray MPI_Type_create_darray_c
    MPI_Type_create_f90_complex MPI_Type_create_f90_integer MPI_Type_create_f90_real
    MPI_Type_create_hindexed MPI_Type_create_hindexed_c MPI_Type_create_hindexed_block
    MPI_Type_create_hindexed_block_c MPI_Type_create_hvector MPI_Type_create_hvector_c
    MPI_Type_create_indexed_block MPI_Type_create_indexed_block_c MPI_Type_create_keyval
    MPI_Type_create_resized MPI_Type_create_resized_c MPI_Type_create_struct
    MPI_Type_create_struct_c MPI_Type_create_subarray MPI_Type_create_subarray_c
    MPI_Type_delete_attr MPI_Type_dup MPI_Type_free MPI_Type_free_keyval MPI_Type_get_attr
    MPI_Type_get_contents MPI_Type_get_contents_c MPI_Type_get_envelope MPI_Type_get_envelope_c
    MPI_Type_get_value_index MPI_Type_indexed MPI_Type_indexed_c MPI_Type_set_attr MPI_Type_set_name
    MPI_Type_vector MPI_Type_vector_c MPI_Unpack MPI_Unpack_c MPI_Unpack_external
    MPI_Unpack_external_c

    // Collectives.
    MPI_Allgather_init MPI_Allgather_init_c MPI_Allgatherv_init MPI_Allgatherv_init_c
    MPI_Allreduce_init MPI_Allreduce_init_c MPI_Alltoall_init MPI_Alltoall_init_c MPI_Alltoallv_init
    MPI_Alltoallv_init_c MPI_Alltoallw_init MPI_Alltoallw_init_c MPI_Barrier_init MPI_Bcast_init
    MPI_Bcast_init_c MPI_Exscan_init MPI_Exscan_init_c MPI_Gather_init MPI_Gather_init_c
    MPI_Gatherv_init MPI_Gatherv_init_c MPI_Ineighbor_allgather MPI_Ineighbor_allgather_c
    MPI_Ineighbor_allgatherv MPI_Ineighbor_allgatherv_c MPI_Ineighbor_alltoall
    MPI_Ineighbor_alltoall_c MPI_Ineighbor_alltoallv MPI_Ineighbor_alltoallv_c
    MPI_Ineighbor_alltoallw MPI_Ineighbor_alltoallw_c MPI_Neighbor_allgather
    MPI_Neighbor_allgather_c MPI_Neighbor_allgather_init MPI_Neighbor_allgather_init_c
    MPI_Neighbor_allgatherv MPI_Neighbor_allgatherv_c MPI_Neighbor_allgatherv_init
    MPI_Neighbor_allgatherv_init_c MPI_Neighbor_alltoall MPI_Neighbor_alltoall_c
    MPI_Neighbor_alltoall_init MPI_Neighbor_alltoall_init_c MPI_Neighbor_alltoallv
    MPI_Neighbor_alltoallv_c MPI_Neighbor_alltoallv_init MPI_Neighbor_alltoallv_init_c
    MPI_Neighbor_alltoallw MPI_Neighbor_alltoallw_c MPI_Neighbor_alltoallw_init
    MPI_Neighbor_alltoallw_init_c MPI_Op_create MPI_Op_create_c MPI_Op_free MPI_Reduce_init
    MPI_Reduce_init_c MPI_Reduce_scatter_block_init MPI_Reduce_scatter_block_init_c
    MPI_Reduce_scatter_init MPI_Reduce_scatter_init_c MPI_Scan_init MPI_Scan_init_c MPI_Scatter_init
    MPI_Scatter_init_c MPI_Scatterv_init MPI_Scatterv_init_c

    // Groups.
    MPI_Group_compare MPI_Group_difference MPI_Group_excl MPI_Group_free MPI_Group_incl
    MPI_Group_intersection MPI_Group_range_excl MPI_Group_range_incl MPI_Group_rank MPI_Group_size
    MPI_Group_translate_ranks MPI_Group_union

    // Communicators.
    MPI_Comm_attach_buffer MPI_Comm_attach_buffer_c MPI_Comm_compare MPI_Comm_create
    MPI_Comm_create_from_group MPI_Comm_create_group MPI_Comm_create_keyval MPI_Comm_delete_attr
    MPI_Comm_detach_buffer MPI_Comm_detach_buffer_c MPI_Comm_dup_with_info MPI_Comm_flush_buffer
    MPI_Comm_free_keyval MPI_Comm_get_attr MPI_Comm_get_info MPI_Comm_get_name MPI_Comm_group
    MPI_Comm_idup MPI_Comm_idup_with_info MPI_Comm_iflush_buffer MPI_Comm_remote_group
    MPI_Comm_remote_size MPI_Comm_set_attr MPI_Comm_set_info MPI_Comm_set_name MPI_Comm_split_type
    MPI_Comm_test_inter MPI_Group_from_session_pset MPI_Intercomm_create
    MPI_Intercomm_create_from_groups MPI_Intercomm_merge MPI_Session_attach_buffer
    MPI_Session_attach_buffer_c MPI_Session_detach_buffer MPI_Session_detach_buffer_c
    MPI_Session_finalize MPI_Session_flush_buffer MPI_Session_get_info MPI_Session_get_nth_pset
    MPI_Session_get_num_psets MPI_Session_get_pset_info MPI_Session_iflush_buffer MPI_Session_init

    // Topologies.
    MPI_Cart_coords MPI_Cart_create MPI_Cart_get MPI_Cart_map MPI_Cart_rank MPI_Cart_shift
    MPI_Cart_sub MPI_Cartdim_get MPI_Dims_create MPI_Dist_graph_create
    MPI_Dist_graph_create_adjacent MPI_Dist_graph_neighbors MPI_Dist_graph_neighbors_count
    MPI_Graph_create MPI_Graph_get MPI_Graph_map MPI_Graph_neighbors MPI_Graph_neighbors_count
    MPI_Graphdims_get MPI_Topo_test

    // Info.
    MPI_Info_create MPI_Info_create_env MPI_Info_delete MPI_Info_dup MPI_Info_free
    MPI_Info_get_nkeys MPI_Info_get_nthkey MPI_Info_get_string MPI_Info_set

    // Processes.
    MPI_Close_port MPI_Comm_accept MPI_Comm_connect MPI_Comm_disconnect MPI_Comm_get_parent
    MPI_Comm_join MPI_Comm_spawn MPI_Comm_spawn_multiple MPI_Lookup_name MPI_Open_port
    MPI_Publish_name MPI_Unpublish_name

    // Windows.
    MPI_Accumulate MPI_Accumulate_c MPI_Compare_and_swap MPI_Fetch_and_op MPI_Get MPI_Get_c
    MPI_Get_accumulate MPI_Get_accumulate_c MPI_Put MPI_Put_c MPI_Raccumulate MPI_Raccumulate_c
    MPI_Rget MPI_Rget_c MPI_Rget_accumulate MPI_Rget_accumulate_c MPI_Rput MPI_Rput_c
    MPI_Win_allocate MPI_Win_allocate_c MPI_Win_allocate_shared MPI_Win_allocate_shared_c
    MPI_Win_attach MPI_Win_complete MPI_Win_create MPI_Win_create_c MPI_Win_create_dynamic
    MPI_Win_create_keyval MPI_Win_delete_attr MPI_Win_detach MPI_Win_fence MPI_Win_flush
    MPI_Win_flush_all MPI_Win_flush_local MPI_Win_flush_local_all MPI_Win_free MPI_Win_free_keyval
    MPI_Win_get_attr MPI_Win_get_group MPI_Win_get_info MPI_Win_get_name MPI_Win_lock
    MPI_Win_lock_all MPI_Win_post MPI_Win_set_attr MPI_Win_set_info MPI_Win_set_name
    MPI_Win_shared_query MPI_Win_shared_query_c MPI_Win_start MPI_Win_sync MPI_Win_test
    MPI_Win_unlock MPI_Win_unlock_all MPI_Win_wait

    // Files.
    MPI_File_close MPI_File_delete MPI_File_get_amode MPI_File_get_atomicity
    MPI_File_get_byte_offset MPI_File_get_group MPI_File_get_info MPI_File_get_position
    MPI_File_get_position_shared MPI_File_get_size MPI_File_get_type_extent
    MPI_File_get_type_extent_c MPI_File_get_view MPI_File_iread MPI_File_iread_c MPI_File_iread_all
    MPI_File_iread_all_c MPI_File_iread_at MPI_File_iread_at_c MPI_File_iread_at_all
    MPI_File_iread_at_all_c MPI_File_iread_shared MPI_File_iread_shared_c MPI_File_iwrite
    MPI_File_iwrite_c MPI_File_iwrite_all MPI_File_iwrite_all_c MPI_File_iwrite_at
    MPI_File_iwrite_at_c MPI_File_iwrite_at_all MPI_File_iwrite_at_all_c MPI_File_iwrite_shared
    MPI_File_iwrite_shared_c MPI_File_open MPI_File_preallocate MPI_File_read MPI_File_read_c
    MPI_File_read_all MPI_File_read_all_c MPI_File_read_all_begin MPI_File_read_all_begin_c
    MPI_File_read_all_end MPI_File_read_at MPI_File_read_at_c MPI_File_read_at_all
    MPI_File_read_at_all_c MPI_File_read_at_all_begin MPI_File_read_at_all_begin_c
    MPI_File_read_at_all_end MPI_File_read_ordered MPI_File_read_ordered_c
    MPI_File_read_ordered_begin MPI_File_read_ordered_begin_c MPI_File_read_ordered_end
    MPI_File_read_shared MPI_File_read_shared_c MPI_File_seek MPI_File_seek_shared
    MPI_File_set_atomicity MPI_File_set_info MPI_File_set_size MPI_File_set_view MPI_File_sync
    MPI_File_write MPI_File_write_c MPI_File_write_all MPI_File_write_all_c MPI_File_write_all_begin
    MPI_File_write_all_begin_c MPI_File_write_all_end MPI_File_write_at MPI_File_write_at_c
    MPI_File_write_at_all MPI_File_write_at_all_c MPI_File_write_at_all_begin
    MPI_File_write_at_all_begin_c MPI_File_write_at_all_end MPI_File_write_ordered
    MPI_File_write_ordered_c MPI_File_write_ordered_begin MPI_File_write_ordered_begin_c
    MPI_File_write_ordered_end MPI_File_write_shared MPI_File_write_shared_c MPI_Register_datarep
    MPI_Register_datarep_c

    // Deprecated.
    MPI_Attr_delete MPI_Attr_get MPI_Attr_put MPI_Info_get MPI_Info_get_valuelen MPI_Keyval_create
    MPI_Keyval_free

    // Tool interface.
    MPI_T_category_changed MPI_T_category_get_categories MPI_T_category_get_cvars
    MPI_T_category_get_events MPI_T_category_get_index MPI_T_category_get_info
    MPI_T_category_get_num MPI_T_category_get_num_events MPI_T_category_get_pvars
    MPI_T_cvar_get_index MPI_T_cvar_get_info MPI_T_cvar_get_num MPI_T_cvar_handle_alloc
    MPI_T_cvar_handle_free MPI_T_cvar_read MPI_T_cvar_write MPI_T_enum_get_info MPI_T_enum_get_item
    MPI_T_event_callback_get_info MPI_T_event_callback_set_info MPI_T_event_copy
    MPI_T_event_get_index MPI_T_event_get_info MPI_T_event_get_num MPI_T_event_get_source
    MPI_T_event_get_timestamp MPI_T_event_handle_alloc MPI_T_event_handle_free
    MPI_T_event_handle_get_info MPI_T_event_handle_set_info MPI_T_event_read
    MPI_T_event_register_callback MPI_T_event_set_dropped_handler MPI_T_finalize MPI_T_init_thread
    MPI_T_pvar_get_index MPI_T_pvar_get_info MPI_T_pvar_get_num MPI_T_pvar_handle_alloc
    MPI_T_pvar_handle_free MPI_T_pvar_read MPI_T_pvar_readreset MPI_T_pvar_reset
    MPI_T_pvar_session_create MPI_T_pvar_session_free MPI_T_pvar_start MPI_T_pvar_stop
    MPI_T_pvar_write MPI_T_source_get_info MPI_T_source_get_num MPI_T_source_get_timestamp
}
