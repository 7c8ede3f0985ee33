//! The error classes of the MPI standard ABI, and their texts.
//!
//! All of `mpi-facade` uses them through [`crate::error`].

use core::ffi::c_int;
use pombo_kernel::text::line;

/// The first class of the tools interface, and the number of classes before it.
const FIRST_OF_TOOLS: usize = Class::ToolCannotInit as usize;
const OTHERS: usize = Class::Abi as usize + 1;

macro_rules! classes {
    ($($name:ident = $value:literal, $standard:literal, $text:literal;)*) => {
        /// An error class; the discriminants are the ABI's values.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum Class {
            $(#[doc = concat!("`", $standard, "`: ", $text, ".")] $name = $value,)*
        }

        /// A line for each class, in ascending order.
        const TEXTS: &str = concat!($($standard, ": ", $text, "\n"),*);

        impl Class {
            /// Returns the class with this ABI value.
            pub const fn from_code(code: c_int) -> Option<Self> {
                match code {
                    $($value => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Returns the standard's name and a short text, as `MPI_Error_string`.
            pub const fn text(self) -> &'static str {
                let code = self as usize;
                line(TEXTS, if code < FIRST_OF_TOOLS { code } else { code - FIRST_OF_TOOLS + OTHERS })
            }

            #[cfg(test)]
            pub(super) const ALL: &'static [(Self, &'static str)] =
                &[$((Self::$name, concat!($standard, ": ", $text)),)*];
        }
    };
}

classes! {
    Success = 0, "MPI_SUCCESS", "no error";
    Buffer = 1, "MPI_ERR_BUFFER", "invalid buffer address";
    Count = 2, "MPI_ERR_COUNT", "invalid count";
    Type = 3, "MPI_ERR_TYPE", "invalid datatype";
    Tag = 4, "MPI_ERR_TAG", "invalid tag";
    Comm = 5, "MPI_ERR_COMM", "invalid communicator";
    Rank = 6, "MPI_ERR_RANK", "invalid rank";
    Request = 7, "MPI_ERR_REQUEST", "invalid request";
    Root = 8, "MPI_ERR_ROOT", "invalid root";
    Group = 9, "MPI_ERR_GROUP", "invalid group";
    Op = 10, "MPI_ERR_OP", "invalid operation";
    Topology = 11, "MPI_ERR_TOPOLOGY", "invalid topology";
    Dims = 12, "MPI_ERR_DIMS", "invalid dimensions";
    Arg = 13, "MPI_ERR_ARG", "invalid argument";
    Unknown = 14, "MPI_ERR_UNKNOWN", "unknown error";
    Truncate = 15, "MPI_ERR_TRUNCATE", "message longer than the receive buffer";
    Other = 16, "MPI_ERR_OTHER", "error of another kind";
    Intern = 17, "MPI_ERR_INTERN", "error inside the library";
    Pending = 18, "MPI_ERR_PENDING", "the operation is still pending";
    InStatus = 19, "MPI_ERR_IN_STATUS", "the error is in the status";
    Access = 20, "MPI_ERR_ACCESS", "permission denied";
    Amode = 21, "MPI_ERR_AMODE", "invalid access mode";
    Assert = 22, "MPI_ERR_ASSERT", "invalid assertion";
    BadFile = 23, "MPI_ERR_BAD_FILE", "invalid file name";
    Base = 24, "MPI_ERR_BASE", "invalid base address";
    Conversion = 25, "MPI_ERR_CONVERSION", "error in a data conversion function";
    Disp = 26, "MPI_ERR_DISP", "invalid displacement";
    DupDatarep = 27, "MPI_ERR_DUP_DATAREP", "data representation already registered";
    FileExists = 28, "MPI_ERR_FILE_EXISTS", "file exists";
    FileInUse = 29, "MPI_ERR_FILE_IN_USE", "file in use";
    File = 30, "MPI_ERR_FILE", "invalid file handle";
    InfoKey = 31, "MPI_ERR_INFO_KEY", "info key too long";
    InfoNokey = 32, "MPI_ERR_INFO_NOKEY", "no such info key";
    InfoValue = 33, "MPI_ERR_INFO_VALUE", "info value too long";
    Info = 34, "MPI_ERR_INFO", "invalid info";
    Io = 35, "MPI_ERR_IO", "error while reading or writing";
    Keyval = 36, "MPI_ERR_KEYVAL", "invalid attribute key";
    Locktype = 37, "MPI_ERR_LOCKTYPE", "invalid lock type";
    Name = 38, "MPI_ERR_NAME", "no such service name";
    NoMem = 39, "MPI_ERR_NO_MEM", "out of memory";
    NotSame = 40, "MPI_ERR_NOT_SAME", "argument differs between the processes";
    NoSpace = 41, "MPI_ERR_NO_SPACE", "no space left";
    NoSuchFile = 42, "MPI_ERR_NO_SUCH_FILE", "no such file";
    Port = 43, "MPI_ERR_PORT", "invalid port name";
    Quota = 44, "MPI_ERR_QUOTA", "quota exceeded";
    ReadOnly = 45, "MPI_ERR_READ_ONLY", "read-only file or file system";
    RmaAttach = 46, "MPI_ERR_RMA_ATTACH", "memory cannot be attached";
    RmaConflict = 47, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window";
    RmaRange = 48, "MPI_ERR_RMA_RANGE", "target memory outside of the window";
    RmaShared = 49, "MPI_ERR_RMA_SHARED", "memory cannot be shared";
    RmaSync = 50, "MPI_ERR_RMA_SYNC", "wrong synchronisation of a window";
    Service = 51, "MPI_ERR_SERVICE", "no such service published";
    Size = 52, "MPI_ERR_SIZE", "invalid size";
    Spawn = 53, "MPI_ERR_SPAWN", "cannot start processes";
    UnsupportedDatarep = 54, "MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation";
    UnsupportedOperation = 55, "MPI_ERR_UNSUPPORTED_OPERATION", "unsupported operation";
    Win = 56, "MPI_ERR_WIN", "invalid window";
    RmaFlavor = 57, "MPI_ERR_RMA_FLAVOR", "wrong flavour of window";
    ProcAborted = 58, "MPI_ERR_PROC_ABORTED", "a process has ended";
    ValueTooLarge = 59, "MPI_ERR_VALUE_TOO_LARGE", "value too large for its type";
    Session = 60, "MPI_ERR_SESSION", "invalid session";
    Errhandler = 61, "MPI_ERR_ERRHANDLER", "invalid error handler";
    Abi = 62, "MPI_ERR_ABI", "error about the binary interface";
    ToolCannotInit = 1001, "MPI_T_ERR_CANNOT_INIT", "interface cannot be initialised";
    ToolNotAccessible = 1002, "MPI_T_ERR_NOT_ACCESSIBLE", "interface not accessible";
    ToolNotInitialized = 1003, "MPI_T_ERR_NOT_INITIALIZED", "interface not initialised";
    ToolNotSupported = 1004, "MPI_T_ERR_NOT_SUPPORTED", "not supported";
    ToolMemory = 1005, "MPI_T_ERR_MEMORY", "out of memory";
    ToolInvalid = 1006, "MPI_T_ERR_INVALID", "invalid use of the interface";
    ToolInvalidIndex = 1007, "MPI_T_ERR_INVALID_INDEX", "invalid index";
    ToolInvalidItem = 1008, "MPI_T_ERR_INVALID_ITEM", "item index out of range";
    ToolInvalidSession = 1009, "MPI_T_ERR_INVALID_SESSION", "invalid session";
    ToolInvalidHandle = 1010, "MPI_T_ERR_INVALID_HANDLE", "invalid handle";
    ToolInvalidName = 1011, "MPI_T_ERR_INVALID_NAME", "no such name";
    ToolOutOfHandles = 1012, "MPI_T_ERR_OUT_OF_HANDLES", "no more handles";
    ToolOutOfSessions = 1013, "MPI_T_ERR_OUT_OF_SESSIONS", "no more sessions";
    ToolCvarSetNotNow = 1014, "MPI_T_ERR_CVAR_SET_NOT_NOW", "variable cannot be set now";
    ToolCvarSetNever = 1015, "MPI_T_ERR_CVAR_SET_NEVER", "variable can never be set";
    ToolPvarNoWrite = 1016, "MPI_T_ERR_PVAR_NO_WRITE", "variable cannot be written";
    ToolPvarNoStartstop = 1017, "MPI_T_ERR_PVAR_NO_STARTSTOP", "variable cannot be started or stopped";
    ToolPvarNoAtomic = 1018, "MPI_T_ERR_PVAR_NO_ATOMIC", "variable cannot be read and written at once";
}
