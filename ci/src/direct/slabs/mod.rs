//! σ = H C slab by slab of β strings, for spaces of long strings on devices that run kernels.
//!
//! | file | question it answers |
//! |---|---|
//! | `cores` | which strings do two electrons make of those of two fewer? |
//! | `tables` | what do the generated kernels read? |
//! | `kernels` | σ on a device |
//! | `rank` | what does one of several ranks do besides? |

mod cores;
mod kernels;
mod rank;
mod tables;

pub(crate) use kernels::SlabKernels;
