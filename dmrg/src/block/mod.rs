//! Blocks of sites, ψ between them, and H as records.
//!
//! | file | question it answers |
//! |---|---|
//! | `blocks.rs`, `state.rs` | sectors of a block, ψ's layout; the states kept of a site |
//! | `enlarged.rs`, `environment.rs`, `projection.rs` | operators of a block with a site, in the kept basis, and from one to the other |
//! | `bundled.rs` | many operators side by side, of molecules |
//! | `bond.rs`, `one_site.rs`, `superblock.rs` | two blocks and two sites, or one; H over them |
//! | `truncate.rs`, `thin.rs`, `orthonormal.rs` | which states stay, by singular values and by density matrices; orthonormal columns |
//! | `transform.rs`, `predict.rs` | ψ at the next bond, and of a longer chain |
//! | `start.rs`, `prepared.rs`, `whole_sector.rs` | blocks at random; a state from vectors; the whole of a small sector |

pub(super) mod blocks;
pub(super) mod bond;
pub(crate) mod bundled;
pub(super) mod enlarged;
pub(super) mod environment;
pub(crate) mod one_site;
pub(crate) mod orthonormal;
pub(super) mod predict;
pub(crate) mod prepared;
pub(crate) mod projection;
pub(super) mod start;
pub(super) mod state;
pub(super) mod superblock;
pub(crate) mod thin;
pub(super) mod transform;
pub(super) mod truncate;
pub(super) mod whole_sector;
