//! Datatypes: the predefined ones, those that a program makes, and what calls ask about them. Source: MPI 5.0, chapter 5.
//!
//! A derived datatype is a layout of the kernel, once for the bytes that are copied and once for the values that are
//! counted (`type_layout`). Whoever uses a layout shares it, so a datatype may be freed while messages of it are under
//! way.

mod arrays;
mod attributes;
mod construction;
mod constructors;
mod contents;
mod datatypes;
mod f90;
mod pack;
mod pack_external;
mod predefined;
mod queries;
pub(crate) mod representation;
mod shape;
#[cfg_attr(not(feature = "layouts"), path = "no_type_layout.rs")]
mod type_layout;

pub use arrays::{Distributed, darray, subarray};
pub use attributes::{delete_attribute, duplicate, free, get_attribute, set_attribute};
pub(crate) use construction::TypeObject;
pub use constructors::{
    commit, contiguous, hindexed, hindexed_block, hvector, indexed, indexed_block, resized,
    structure, vector,
};
pub use contents::{Contents, Envelope, contents, envelope};
pub(crate) use datatypes::Datatypes;
pub use f90::{f90_complex, f90_integer, f90_real};
pub use pack::{pack, pack_size, unpack};
pub use pack_external::{pack_external, pack_external_size, unpack_external};
pub(crate) use predefined::Shown;
pub use predefined::{Element, Family, Predefined, all, dense_sizes, predefined};
pub use queries::{
    count, element_bytes, elements, extent, name, set_name, size, true_extent, value_index,
};
pub(crate) use shape::{Shape, items, times};
pub(crate) use type_layout::TypeLayout;
