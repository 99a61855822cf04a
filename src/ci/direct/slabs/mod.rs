//! σ = H C slab by slab of β strings, for spaces of long strings on devices that run kernels.
//!
//! | file | question it answers |
//! |---|---|
//! | `cores` | which strings do two electrons make of those of two fewer? |
//! | `tables` | what do the generated kernels read? |
//! | `kernels` | σ on a device |

mod cores;
mod kernels;
mod tables;

pub(super) use kernels::SlabKernels;
