//! Blocks of sites, ψ between them, and H as records.
//!
//! | file | question it answers |
//! |---|---|
//! | `blocks.rs`, `state.rs` | sectors of a block, ψ's layout; the states kept of a site |
//! | `enlarged.rs`, `environment.rs`, `projection.rs` | operators of a block with a site, in the kept basis, and from one to the other |
//! | `bond.rs`, `one_site.rs`, `superblock.rs` | two blocks and two sites, or one; H over them |
//! | `truncate.rs`, `transform.rs`, `predict.rs` | which states stay; ψ at the next bond, and of a longer chain |
//! | `start.rs`, `prepared.rs`, `whole_sector.rs` | blocks at random; a state from vectors; the whole of a small sector |

pub mod blocks;
pub mod bond;
pub mod enlarged;
pub mod environment;
pub(crate) mod one_site;
pub mod predict;
pub(crate) mod prepared;
pub(crate) mod projection;
pub mod start;
pub mod state;
pub mod superblock;
pub mod transform;
pub mod truncate;
pub mod whole_sector;
