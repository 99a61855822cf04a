//! The order of the sites along the chain.
//!
//! In: an optional order. Out: a checked one; by default sites keep their numbering. The operator sum and the
//! entanglement across a cut grow with the longest bond along the order: [`narrow_order`] gives an order of small bandwidth for
//! any lattice (reversed Cuthill and McKee 1969), which folds a ring and runs along the short side of a strip.

use crate::dmrg::error::DmrgError;
use crate::lattice::{Lattice, check_order};

/// `order`, if it names every site once; the numbering if it is `None`.
///
/// # Errors
/// An order with a site that is missing, repeated or out of range.
pub(crate) fn checked(order: Option<Vec<usize>>, sites: usize) -> Result<Vec<usize>, DmrgError> {
    let Some(order) = order else { return Ok((0..sites).collect()) };
    check_order(&order, sites).map_err(|wrong| DmrgError::Order { sites, wrong })?;
    Ok(order)
}

/// The position of each site.
pub(crate) fn positions(order: &[usize]) -> Vec<usize> {
    let mut positions = vec![0; order.len()];
    order.iter().enumerate().for_each(|(position, site)| positions[*site] = position);
    positions
}

/// The longest bond along an order.
pub(crate) fn bandwidth(lattice: &Lattice, order: &[usize]) -> usize {
    let positions = positions(order);
    lattice.bonds().iter().map(|bond| positions[bond.i].abs_diff(positions[bond.j])).max().unwrap_or(0)
}

/// The numbering, or the reversed Cuthill–McKee order if its longest bond is shorter.
pub fn narrow_order(lattice: &Lattice) -> Vec<usize> {
    let sites = lattice.sites().len();
    let numbered: Vec<usize> = (0..sites).collect();
    let found = cuthill_mckee(lattice, sites);
    if bandwidth(lattice, &found) < bandwidth(lattice, &numbered) { found } else { numbered }
}

fn cuthill_mckee(lattice: &Lattice, sites: usize) -> Vec<usize> {
    let mut joined = vec![Vec::new(); sites];
    for bond in lattice.bonds() {
        joined[bond.i].push(bond.j);
        joined[bond.j].push(bond.i);
    }
    let degree: Vec<usize> = joined.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = Vec::with_capacity(sites);
    let mut seen = vec![false; sites];
    while let Some(start) = (0..sites).filter(|site| !seen[*site]).min_by_key(|site| degree[*site]) {
        seen[start] = true;
        let mut next = order.len();
        order.push(start);
        while next < order.len() {
            let mut fresh: Vec<usize> = joined[order[next]].iter().copied().filter(|site| !seen[*site]).collect();
            fresh.sort_by_key(|site| (degree[*site], *site));
            fresh.dedup();
            fresh.iter().for_each(|site| seen[*site] = true);
            order.extend(fresh);
            next += 1;
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_must_name_every_site_once() {
        assert_eq!(checked(None, 3).unwrap(), [0, 1, 2]);
        assert_eq!(checked(Some(vec![2, 0, 1]), 3).unwrap(), [2, 0, 1]);
        let wrong = |order: &[usize]| checked(Some(order.to_vec()), 3).unwrap_err().to_string();
        assert!(wrong(&[0, 1]).ends_with("a list without 2"));
        assert!(wrong(&[0, 1, 1]).ends_with("1 twice"));
        assert!(wrong(&[0, 1, 3]).ends_with("3, which is none of them"));
    }

    #[test]
    fn a_shuffled_chain_is_put_back_in_order() {
        // The path 3-0-4-1-2.
        let lattice = Lattice::from_edges(5, &[(3, 0, 1.0), (0, 4, 1.0), (4, 1, 1.0), (1, 2, 1.0)]).unwrap();
        let order = narrow_order(&lattice);
        assert_eq!(bandwidth(&lattice, &order), 1, "{order:?}");
    }

    #[test]
    fn a_square_lattice_is_ordered_along_its_short_side() {
        let lattice = Lattice::square([8, 2]).open();
        assert_eq!(bandwidth(&lattice, &narrow_order(&lattice)), 2);
    }
}
