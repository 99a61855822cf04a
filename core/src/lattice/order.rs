//! An order of the sites of a lattice, as a list that names each once.

/// Checks `order` as an order of `sites` sites.
///
/// # Errors
/// A site that is missing, repeated or does not exist, in words.
pub fn check_order(order: &[usize], sites: usize) -> Result<(), String> {
    let mut seen = vec![false; sites];
    for &site in order {
        match seen.get_mut(site) {
            None => return Err(format!("{site}, which is none of them")),
            Some(seen) if *seen => return Err(format!("{site} twice")),
            Some(seen) => *seen = true,
        }
    }
    match seen.iter().position(|seen| !seen) {
        Some(site) => Err(format!("a list without {site}")),
        None => Ok(()),
    }
}
