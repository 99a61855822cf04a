//! y = H x by generated kernels, for every family.

mod kernels;

pub(crate) use kernels::ProductKernels;
