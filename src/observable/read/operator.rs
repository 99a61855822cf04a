//! A tree → the operator on these sites.

use super::number::{Scope, Value};
use super::tree::Tree;
use crate::operator::{Operator, SiteKind, Spin, build};
use eigenforge_grammar::parse::{Domain, Factor, Loop, Node, SpinArgument, Sum};
use eigenforge_grammar::vocabulary;
use syn::{Error, Expr, Ident, Result};

/// The operator of a tree.
pub(super) fn evaluate(tree: &Tree, scope: &mut Scope<'_>) -> Result<Operator> {
    match tree {
        Tree::Expression(node) => of_node(node, scope),
        Tree::Sum(sum) => of_sum(sum, &sum.domains, scope),
        Tree::Added(terms, conjugates) => {
            let terms = terms.iter().map(|(negative, tree)| Ok((*negative, evaluate(tree, scope)?)));
            Ok(with_conjugates(added(terms)?, conjugates))
        }
        Tree::Product(factors) => {
            let mut product = build::scalar(1.0);
            for factor in factors {
                product = product * evaluate(factor, scope)?;
            }
            Ok(product)
        }
        Tree::Quotient(tree, divisor) => Ok(evaluate(tree, scope)? / divisor_of(divisor, scope)?),
    }
}

fn added(terms: impl Iterator<Item = Result<(bool, Operator)>>) -> Result<Operator> {
    let mut sum = Operator::zero();
    for term in terms {
        let (negative, term) = term?;
        sum.add_terms(term, if negative { -1.0 } else { 1.0 });
    }
    Ok(sum)
}

fn with_conjugates(terms: Operator, conjugates: &[bool]) -> Operator {
    let adjoint = terms.adjoint();
    conjugates.iter().fold(terms, |sum, negative| if *negative { sum - adjoint.clone() } else { sum + adjoint.clone() })
}

fn divisor_of(divisor: &Expr, scope: &Scope<'_>) -> Result<f64> {
    match scope.number(divisor)? {
        0.0 => Err(Error::new_spanned(divisor, "expected a number other than 0 to divide by")),
        number => Ok(number),
    }
}

/// The rest of a sum: its inner domains and its expression.
fn of_sum(sum: &Sum, domains: &[Domain], scope: &mut Scope<'_>) -> Result<Operator> {
    let Some((domain, inner)) = domains.split_first() else { return of_node(&sum.expression, scope) };
    let before = scope.bound();
    let mut total = Operator::zero();
    for values in members(domain, scope)? {
        values.into_iter().for_each(|(name, value)| scope.bind(name, value));
        let kept = domain.filter.as_ref().map_or(Ok(true), |filter| scope.condition(filter))?;
        if kept {
            total.add_terms(of_sum(sum, inner, scope)?, 1.0);
        }
        scope.forget(before);
    }
    Ok(total)
}

/// What the variables of a domain are bound to, one member after the other.
fn members<'d>(domain: &'d Domain, scope: &Scope<'_>) -> Result<Vec<Vec<(&'d Ident, Value)>>> {
    match &domain.variables {
        Loop::Bond(names) => {
            let bonds = scope.bond_list(&domain.source)?;
            if let Some(bond) = bonds.iter().find(|bond| domain.leaves_out_weight && bond.weight != 1.0) {
                return Err(Error::new_spanned(
                    &domain.source,
                    format!(
                        "the sum ignores the weights of its bonds, such as {} of the bond from {} to {}: write `<i, j, w>` and \
                         multiply by `w`, or `<i, j, _>` if no weight is meant",
                        bond.weight, bond.i, bond.j
                    ),
                ));
            }
            let values = |bond: &crate::lattice::Bond| {
                let all = [
                    Value::Integer(bond.i as i64),
                    Value::Integer(bond.j as i64),
                    Value::Number(bond.weight),
                    Value::Integer(bond.kind as i64),
                ];
                names.iter().zip(all).filter_map(|(name, value)| Some((name.as_ref()?, value))).collect()
            };
            Ok(bonds.iter().map(values).collect())
        }
        Loop::Index(name) => {
            Ok(scope.index_list(&domain.source)?.into_iter().map(|index| vec![(name, Value::Integer(index))]).collect())
        }
        Loop::Spin(name, spins) => {
            let spin = |spin: &vocabulary::Spin| vec![(name, Value::Spin(spin_of(*spin)))];
            Ok(spins.iter().map(spin).collect())
        }
    }
}

fn spin_of(spin: vocabulary::Spin) -> Spin {
    match spin {
        vocabulary::Spin::Up => Spin::Up,
        vocabulary::Spin::Down => Spin::Down,
    }
}

fn of_node(node: &Node, scope: &mut Scope<'_>) -> Result<Operator> {
    match node {
        Node::Coefficient(value) => Ok(build::scalar(scope.number(value)?)),
        Node::Factor(factor) => of_factor(factor, scope),
        Node::Negative(inner) => Ok(-of_node(inner, scope)?),
        Node::Quotient(inner, divisor) => Ok(of_node(inner, scope)? / divisor_of(divisor, scope)?),
        Node::Product(nodes) => {
            let mut product = build::scalar(1.0);
            for node in nodes {
                product = match node {
                    Node::Coefficient(value) => product * scope.number(value)?,
                    other => product * of_node(other, scope)?,
                };
            }
            Ok(product)
        }
        Node::Sum { terms, conjugates } => {
            let terms = terms.iter().map(|term| Ok((term.negative, of_node(&term.node, scope)?)));
            Ok(with_conjugates(added(terms)?, conjugates))
        }
    }
}

/// One operator at its sites; spin operators of electrons are their spin.
fn of_factor(factor: &Factor, scope: &Scope<'_>) -> Result<Operator> {
    use vocabulary::Operator as Word;
    let sites = factor.sites.iter().map(|site| scope.site(site)).collect::<Result<Vec<usize>>>()?;
    let Some(site) = sites.first().copied() else { return Ok(build::imaginary_unit()) };
    let kind = scope.names.kinds[site];
    let spin = match &factor.spin {
        None => None,
        Some(SpinArgument::Literal(spin)) => Some(spin_of(*spin)),
        Some(SpinArgument::Variable(name)) => Some(scope.spin(&syn::parse_quote!(#name))?),
        Some(SpinArgument::Captured(expr)) => Some(scope.spin(expr)?),
        Some(SpinArgument::Flavour(number)) => Some(scope.flavour(number)?),
    };
    let fermion = |operator: fn(usize, Spin) -> Operator| match (kind, spin) {
        (SiteKind::Electrons | SiteKind::Tj, Some(spin @ (Spin::Up | Spin::Down))) => Some(operator(site, spin)),
        (SiteKind::Flavours(_), Some(spin @ Spin::Flavour(_))) => Some(operator(site, spin)),
        (SiteKind::Flavours(1), None) => Some(operator(site, Spin::Flavour(0))),
        _ => None,
    };
    let word = |word: &str| kind.operator(word, site);
    let operator = match factor.operator {
        Word::Create => fermion(build::cdag),
        Word::Annihilate => fermion(build::c),
        Word::Number if spin.is_some() => fermion(build::n),
        Word::Number => word("n"),
        Word::CreateBoson => word("bdag"),
        Word::AnnihilateBoson => word("b"),
        Word::PauliX => word("X"),
        Word::PauliY => word("Y"),
        Word::PauliZ => word("Z"),
        Word::Raise => word("S+"),
        Word::Lower => word("S-"),
        Word::Sz => word("Sz"),
        Word::Sx => word("Sx"),
        Word::Sy => word("Sy"),
        Word::Dot => {
            let (other, has_spin) = (sites[1], |kind: SiteKind, site: usize| kind.operator("S+", site).is_some());
            let theirs = scope.names.kinds[other];
            if has_spin(kind, site) && !has_spin(theirs, other) {
                let found = format!("expected two sites with a spin, found site {other} of kind \"{theirs}\"");
                return Err(Error::new_spanned(&factor.call, found));
            }
            kind.dot(site, theirs, other)
        }
        Word::ImaginaryUnit => Some(build::imaginary_unit()),
    };
    if let Some(operator) = operator {
        return Ok(operator);
    }
    let (carries, words) = match kind {
        SiteKind::Electrons | SiteKind::Tj if factor.operator.is_fermion() && spin.is_none() => {
            return Err(Error::new_spanned(&factor.call, format!("expected a spin: {}", factor.operator.usage())));
        }
        SiteKind::Electrons | SiteKind::Tj => {
            ("electrons", "cdag, c, n with `Up` or `Down`; n(i), sp, sm, sz, sx, sy, sdots")
        }
        SiteKind::Flavours(1) => ("spinless fermions", "cdag(i), c(i), n(i)"),
        SiteKind::Flavours(_) => ("fermions of flavours", "cdag, c, n with `Flavour(f)`; n(i), sz(i)"),
        SiteKind::Moments { .. } => ("local moments", "sp, sm, sz, sx, sy, sdots"),
        SiteKind::Qubits => ("qubits", "X, Y, Z"),
        SiteKind::Bosons { .. } => ("bosons", "bdag, b, n"),
    };
    let name = factor.operator.name();
    Err(Error::new_spanned(&factor.call, format!("expected operators of {carries} ({words}), found `{name}`")))
}
