//! The constants of the MPI standard ABI: handle types and values, under the standard's own names.
//!
//! All of `mpi-facade` uses them. Error classes are in [`crate::error`].
#![allow(
    missing_docs,
    reason = "the names are the standard's, which defines their meaning"
)]

use crate::status::Status;
use core::ffi::{c_char, c_int, c_void};
use core::ptr::{null_mut, without_provenance_mut};

pub type Aint = isize;
pub type Count = i64;
pub type Offset = i64;

/// Predefined handles are below this value; from here up they are indices in Pombo's tables, never addresses.
pub const FIRST_OWN_HANDLE: usize = 4096;

macro_rules! handles {
    ($($name:ident = $null:ident;)*) => {$(
        #[doc = concat!("`MPI_", stringify!($name), "`: pointer-sized, so that C passes it unchanged.")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(transparent)]
        pub struct $name(pub usize);

        impl $name {
            pub const NULL: Self = $null;

            /// Returns whether the ABI fixes this handle's value, whether or not it names an object.
            pub const fn is_predefined(self) -> bool {
                self.0 < FIRST_OWN_HANDLE
            }
        }
    )*};
}

handles! {
    Comm = MPI_COMM_NULL;
    Datatype = MPI_DATATYPE_NULL;
    Errhandler = MPI_ERRHANDLER_NULL;
    File = MPI_FILE_NULL;
    Group = MPI_GROUP_NULL;
    Info = MPI_INFO_NULL;
    Message = MPI_MESSAGE_NULL;
    Op = MPI_OP_NULL;
    Request = MPI_REQUEST_NULL;
    Session = MPI_SESSION_NULL;
    Win = MPI_WIN_NULL;
}

// Versions of the standard and of its ABI.
pub const MPI_VERSION: c_int = 5;
pub const MPI_SUBVERSION: c_int = 0;
pub const MPI_ABI_VERSION: c_int = 1;
pub const MPI_ABI_SUBVERSION: c_int = 0;

/// What `MPI_Get_library_version` tells.
pub const LIBRARY_VERSION: &str = concat!(
    "Pombo ",
    env!("CARGO_PKG_VERSION"),
    ", MPI 5.0, standard ABI 1.0"
);

// Special addresses.
pub const MPI_BOTTOM: *mut c_void = null_mut();
pub const MPI_IN_PLACE: *mut c_void = without_provenance_mut(1);
pub const MPI_BUFFER_AUTOMATIC: *mut c_void = without_provenance_mut(2);
pub const MPI_ARGVS_NULL: *mut *mut *mut c_char = null_mut();
pub const MPI_ARGV_NULL: *mut *mut c_char = null_mut();
pub const MPI_ERRCODES_IGNORE: *mut c_int = null_mut();
pub const MPI_STATUSES_IGNORE: *mut Status = null_mut();
pub const MPI_STATUS_IGNORE: *mut Status = null_mut();
pub const MPI_UNWEIGHTED: *mut c_int = without_provenance_mut(10);
pub const MPI_WEIGHTS_EMPTY: *mut c_int = without_provenance_mut(11);

// Special ranks, tags and counts.
pub const MPI_ANY_SOURCE: c_int = -1;
pub const MPI_ANY_TAG: c_int = -2;
pub const MPI_PROC_NULL: c_int = -3;
pub const MPI_ROOT: c_int = -4;
pub const MPI_UNDEFINED: c_int = -32766;
pub const MPI_BSEND_OVERHEAD: c_int = 512;

// The largest error code; the classes are in `error::Class`.
pub const MPI_ERR_LASTCODE: c_int = 16383;

// Levels of thread support.
pub const MPI_THREAD_SINGLE: c_int = 0;
pub const MPI_THREAD_FUNNELED: c_int = 1024;
pub const MPI_THREAD_SERIALIZED: c_int = 2048;
pub const MPI_THREAD_MULTIPLE: c_int = 4096;

// Sizes of the longest strings in bytes, including the terminating zero.
pub const MPI_MAX_DATAREP_STRING: c_int = 128;
pub const MPI_MAX_ERROR_STRING: c_int = 512;
pub const MPI_MAX_INFO_KEY: c_int = 256;
pub const MPI_MAX_INFO_VAL: c_int = 1024;
pub const MPI_MAX_LIBRARY_VERSION_STRING: c_int = 8192;
pub const MPI_MAX_OBJECT_NAME: c_int = 128;
pub const MPI_MAX_PORT_NAME: c_int = 1024;
pub const MPI_MAX_PROCESSOR_NAME: c_int = 256;
pub const MPI_MAX_STRINGTAG_LEN: c_int = 1024;
pub const MPI_MAX_PSET_NAME_LEN: c_int = 1024;

// Communicators, groups and handles of other kinds with few values.
pub const MPI_COMM_NULL: Comm = Comm(256);
pub const MPI_COMM_WORLD: Comm = Comm(257);
pub const MPI_COMM_SELF: Comm = Comm(258);
pub const MPI_GROUP_NULL: Group = Group(264);
pub const MPI_GROUP_EMPTY: Group = Group(265);
pub const MPI_REQUEST_NULL: Request = Request(384);
pub const MPI_FILE_NULL: File = File(280);
pub const MPI_SESSION_NULL: Session = Session(288);
pub const MPI_WIN_NULL: Win = Win(272);
pub const MPI_MESSAGE_NULL: Message = Message(296);
pub const MPI_MESSAGE_NO_PROC: Message = Message(297);
pub const MPI_ERRHANDLER_NULL: Errhandler = Errhandler(320);
pub const MPI_ERRORS_ARE_FATAL: Errhandler = Errhandler(321);
pub const MPI_ERRORS_ABORT: Errhandler = Errhandler(322);
pub const MPI_ERRORS_RETURN: Errhandler = Errhandler(323);
pub const MPI_INFO_NULL: Info = Info(304);
pub const MPI_INFO_ENV: Info = Info(305);

// Reduction operations.
pub const MPI_OP_NULL: Op = Op(32);
pub const MPI_SUM: Op = Op(33);
pub const MPI_MIN: Op = Op(34);
pub const MPI_MAX: Op = Op(35);
pub const MPI_PROD: Op = Op(36);
pub const MPI_BAND: Op = Op(40);
pub const MPI_BOR: Op = Op(41);
pub const MPI_BXOR: Op = Op(42);
pub const MPI_LAND: Op = Op(48);
pub const MPI_LOR: Op = Op(49);
pub const MPI_LXOR: Op = Op(50);
pub const MPI_MINLOC: Op = Op(56);
pub const MPI_MAXLOC: Op = Op(57);
pub const MPI_REPLACE: Op = Op(60);
pub const MPI_NO_OP: Op = Op(61);

// Datatypes of C, C++ and Fortran.
pub const MPI_DATATYPE_NULL: Datatype = Datatype(512);
pub const MPI_AINT: Datatype = Datatype(513);
pub const MPI_COUNT: Datatype = Datatype(514);
pub const MPI_OFFSET: Datatype = Datatype(515);
pub const MPI_PACKED: Datatype = Datatype(519);
pub const MPI_SHORT: Datatype = Datatype(520);
pub const MPI_INT: Datatype = Datatype(521);
pub const MPI_LONG: Datatype = Datatype(522);
pub const MPI_LONG_LONG_INT: Datatype = Datatype(523);
pub const MPI_LONG_LONG: Datatype = Datatype(523);
pub const MPI_UNSIGNED_SHORT: Datatype = Datatype(524);
pub const MPI_UNSIGNED: Datatype = Datatype(525);
pub const MPI_UNSIGNED_LONG: Datatype = Datatype(526);
pub const MPI_UNSIGNED_LONG_LONG: Datatype = Datatype(527);
pub const MPI_FLOAT: Datatype = Datatype(528);
pub const MPI_C_COMPLEX: Datatype = Datatype(530);
pub const MPI_C_FLOAT_COMPLEX: Datatype = Datatype(530);
pub const MPI_DOUBLE: Datatype = Datatype(532);
pub const MPI_C_DOUBLE_COMPLEX: Datatype = Datatype(534);
pub const MPI_LONG_DOUBLE: Datatype = Datatype(544);
pub const MPI_C_LONG_DOUBLE_COMPLEX: Datatype = Datatype(548);
pub const MPI_C_BOOL: Datatype = Datatype(568);
pub const MPI_WCHAR: Datatype = Datatype(572);
pub const MPI_INT8_T: Datatype = Datatype(576);
pub const MPI_UINT8_T: Datatype = Datatype(577);
pub const MPI_CHAR: Datatype = Datatype(579);
pub const MPI_SIGNED_CHAR: Datatype = Datatype(580);
pub const MPI_UNSIGNED_CHAR: Datatype = Datatype(581);
pub const MPI_BYTE: Datatype = Datatype(583);
pub const MPI_INT16_T: Datatype = Datatype(584);
pub const MPI_UINT16_T: Datatype = Datatype(585);
pub const MPI_INT32_T: Datatype = Datatype(592);
pub const MPI_UINT32_T: Datatype = Datatype(593);
pub const MPI_INT64_T: Datatype = Datatype(600);
pub const MPI_UINT64_T: Datatype = Datatype(601);
pub const MPI_LOGICAL: Datatype = Datatype(536);
pub const MPI_INTEGER: Datatype = Datatype(537);
pub const MPI_REAL: Datatype = Datatype(538);
pub const MPI_COMPLEX: Datatype = Datatype(539);
pub const MPI_DOUBLE_PRECISION: Datatype = Datatype(540);
pub const MPI_CHARACTER: Datatype = Datatype(542);
pub const MPI_CXX_FLOAT_COMPLEX: Datatype = Datatype(531);
pub const MPI_CXX_DOUBLE_COMPLEX: Datatype = Datatype(535);
pub const MPI_CXX_LONG_DOUBLE_COMPLEX: Datatype = Datatype(549);
pub const MPI_CXX_BOOL: Datatype = Datatype(569);
pub const MPI_DOUBLE_COMPLEX: Datatype = Datatype(541);
pub const MPI_LOGICAL1: Datatype = Datatype(704);
pub const MPI_LOGICAL2: Datatype = Datatype(712);
pub const MPI_LOGICAL4: Datatype = Datatype(720);
pub const MPI_LOGICAL8: Datatype = Datatype(728);
pub const MPI_LOGICAL16: Datatype = Datatype(736);
pub const MPI_INTEGER1: Datatype = Datatype(705);
pub const MPI_INTEGER2: Datatype = Datatype(713);
pub const MPI_INTEGER4: Datatype = Datatype(721);
pub const MPI_INTEGER8: Datatype = Datatype(729);
pub const MPI_INTEGER16: Datatype = Datatype(737);
pub const MPI_REAL2: Datatype = Datatype(714);
pub const MPI_REAL4: Datatype = Datatype(722);
pub const MPI_REAL8: Datatype = Datatype(730);
pub const MPI_REAL16: Datatype = Datatype(738);
pub const MPI_COMPLEX4: Datatype = Datatype(723);
pub const MPI_COMPLEX8: Datatype = Datatype(731);
pub const MPI_COMPLEX16: Datatype = Datatype(739);
pub const MPI_COMPLEX32: Datatype = Datatype(747);

// Pairs of a value and an index, for MPI_MINLOC and MPI_MAXLOC.
pub const MPI_FLOAT_INT: Datatype = Datatype(552);
pub const MPI_DOUBLE_INT: Datatype = Datatype(553);
pub const MPI_LONG_INT: Datatype = Datatype(554);
pub const MPI_2INT: Datatype = Datatype(555);
pub const MPI_SHORT_INT: Datatype = Datatype(556);
pub const MPI_LONG_DOUBLE_INT: Datatype = Datatype(557);
pub const MPI_2REAL: Datatype = Datatype(560);
pub const MPI_2DOUBLE_PRECISION: Datatype = Datatype(561);
pub const MPI_2INTEGER: Datatype = Datatype(562);

// The constructor of a datatype.
pub const MPI_COMBINER_NAMED: c_int = 101;
pub const MPI_COMBINER_DUP: c_int = 102;
pub const MPI_COMBINER_CONTIGUOUS: c_int = 103;
pub const MPI_COMBINER_VECTOR: c_int = 104;
pub const MPI_COMBINER_HVECTOR: c_int = 105;
pub const MPI_COMBINER_INDEXED: c_int = 106;
pub const MPI_COMBINER_HINDEXED: c_int = 107;
pub const MPI_COMBINER_INDEXED_BLOCK: c_int = 108;
pub const MPI_COMBINER_HINDEXED_BLOCK: c_int = 109;
pub const MPI_COMBINER_STRUCT: c_int = 110;
pub const MPI_COMBINER_SUBARRAY: c_int = 111;
pub const MPI_COMBINER_DARRAY: c_int = 112;
pub const MPI_COMBINER_F90_REAL: c_int = 113;
pub const MPI_COMBINER_F90_COMPLEX: c_int = 114;
pub const MPI_COMBINER_F90_INTEGER: c_int = 115;
pub const MPI_COMBINER_RESIZED: c_int = 116;
pub const MPI_COMBINER_VALUE_INDEX: c_int = 117;

// Classes of MPI_Type_match_size.
pub const MPI_TYPECLASS_INTEGER: c_int = 192;
pub const MPI_TYPECLASS_REAL: c_int = 193;
pub const MPI_TYPECLASS_COMPLEX: c_int = 194;

// Order and distribution of array datatypes.
pub const MPI_ORDER_C: c_int = 12;
pub const MPI_ORDER_FORTRAN: c_int = 15;
pub const MPI_DISTRIBUTE_NONE: c_int = 16;
pub const MPI_DISTRIBUTE_BLOCK: c_int = 17;
pub const MPI_DISTRIBUTE_CYCLIC: c_int = 18;
pub const MPI_DISTRIBUTE_DFLT_DARG: c_int = 19;

// Results of a comparison.
pub const MPI_IDENT: c_int = 201;
pub const MPI_CONGRUENT: c_int = 202;
pub const MPI_SIMILAR: c_int = 203;
pub const MPI_UNEQUAL: c_int = 204;

// Topologies.
pub const MPI_CART: c_int = 211;
pub const MPI_GRAPH: c_int = 212;
pub const MPI_DIST_GRAPH: c_int = 213;

// The kinds of split by hardware for `MPI_Comm_split_type`.
pub const MPI_COMM_TYPE_SHARED: c_int = 221;
pub const MPI_COMM_TYPE_HW_UNGUIDED: c_int = 222;
pub const MPI_COMM_TYPE_HW_GUIDED: c_int = 223;
pub const MPI_COMM_TYPE_RESOURCE_GUIDED: c_int = 224;

// Keys of predefined attributes.
pub const MPI_KEYVAL_INVALID: c_int = 0;
pub const MPI_TAG_UB: c_int = 501;
pub const MPI_IO: c_int = 502;
pub const MPI_HOST: c_int = 503;
pub const MPI_WTIME_IS_GLOBAL: c_int = 504;
pub const MPI_APPNUM: c_int = 505;
pub const MPI_LASTUSEDCODE: c_int = 506;
pub const MPI_UNIVERSE_SIZE: c_int = 507;
pub const MPI_WIN_BASE: c_int = 601;
pub const MPI_WIN_DISP_UNIT: c_int = 602;
pub const MPI_WIN_SIZE: c_int = 603;
pub const MPI_WIN_CREATE_FLAVOR: c_int = 604;
pub const MPI_WIN_MODEL: c_int = 605;

// Windows.
pub const MPI_LOCK_EXCLUSIVE: c_int = 301;
pub const MPI_LOCK_SHARED: c_int = 302;
pub const MPI_WIN_FLAVOR_CREATE: c_int = 311;
pub const MPI_WIN_FLAVOR_ALLOCATE: c_int = 312;
pub const MPI_WIN_FLAVOR_DYNAMIC: c_int = 313;
pub const MPI_WIN_FLAVOR_SHARED: c_int = 314;
pub const MPI_WIN_UNIFIED: c_int = 321;
pub const MPI_WIN_SEPARATE: c_int = 322;

// Modes of files and assertions on windows.
pub const MPI_MODE_APPEND: c_int = 1;
pub const MPI_MODE_CREATE: c_int = 2;
pub const MPI_MODE_DELETE_ON_CLOSE: c_int = 4;
pub const MPI_MODE_EXCL: c_int = 8;
pub const MPI_MODE_RDONLY: c_int = 16;
pub const MPI_MODE_RDWR: c_int = 32;
pub const MPI_MODE_SEQUENTIAL: c_int = 64;
pub const MPI_MODE_UNIQUE_OPEN: c_int = 128;
pub const MPI_MODE_WRONLY: c_int = 256;
pub const MPI_MODE_NOCHECK: c_int = 1024;
pub const MPI_MODE_NOPRECEDE: c_int = 2048;
pub const MPI_MODE_NOPUT: c_int = 4096;
pub const MPI_MODE_NOSTORE: c_int = 8192;
pub const MPI_MODE_NOSUCCEED: c_int = 16384;

// Positions in files.
pub const MPI_SEEK_CUR: c_int = 401;
pub const MPI_SEEK_END: c_int = 402;
pub const MPI_SEEK_SET: c_int = 403;
pub const MPI_DISPLACEMENT_CURRENT: Offset = -1;
