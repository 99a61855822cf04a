//! A tree → the operator on these sites.

use super::scope::{Scope, Value};
use crate::operator::{MOST_TERMS, Operator, SiteKind, Spin, build};
use eigenforge_grammar::parse::{Domain, Factor, Loop, Node, Reduction, SpinArgument, Sum};
use eigenforge_grammar::vocabulary;
use proc_macro2::Span;
use syn::{Error, Expr, Ident, Result};

fn added(terms: impl Iterator<Item = Result<(bool, Operator)>>) -> Result<Operator> {
    let mut sum = Operator::zero();
    for term in terms {
        let (negative, term) = term?;
        sum.add_terms(term, if negative { -1.0 } else { 1.0 });
    }
    Ok(sum)
}

fn product_of(left: Operator, right: Operator, scope: &Scope<'_>) -> Result<Operator> {
    left.checked_product(right, &scope.names.kinds).map_err(|error| Error::new(Span::call_site(), error))
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

/// The members of the rest of the domains, added or multiplied to `total` in their order.
fn reduced(
    sum: &Sum,
    reduction: Reduction,
    domains: &[Domain],
    scope: &mut Scope<'_>,
    total: &mut Operator,
) -> Result<()> {
    let Some((domain, inner)) = domains.split_first() else {
        let member = evaluate(&sum.expression, scope)?;
        match reduction {
            Reduction::Sum => total.add_terms(member, 1.0),
            Reduction::Product => *total = product_of(std::mem::replace(total, Operator::zero()), member, scope)?,
        }
        if total.length() > MOST_TERMS {
            return Err(Error::new(Span::call_site(), format!("expected at most {MOST_TERMS} terms, found more")));
        }
        return Ok(());
    };
    let members = members(domain, scope)?;
    let (before, open) = (scope.bound(), scope.open(members.len(), &domain.source)?);
    for values in members {
        for (name, value) in values {
            scope.bind(name, value)?;
        }
        if domain.filter.as_ref().map_or(Ok(true), |filter| scope.condition(filter))? {
            reduced(sum, reduction, inner, scope, total)?;
        }
        scope.forget(before);
    }
    scope.close(open);
    Ok(())
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
            let values = |(number, bond): (usize, &crate::lattice::Bond)| {
                let all = [
                    Value::Integer(bond.i as i64),
                    Value::Integer(bond.j as i64),
                    Value::Number(bond.weight),
                    Value::Integer(bond.kind as i64),
                    Value::Integer(number as i64),
                ];
                names.iter().zip(all).filter_map(|(name, value)| Some((name.as_ref()?, value))).collect()
            };
            Ok(bonds.iter().enumerate().map(values).collect())
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

/// The operator of a node.
pub(super) fn evaluate(node: &Node, scope: &mut Scope<'_>) -> Result<Operator> {
    match node {
        Node::Coefficient(value) => Ok(build::scalar(scope.number(value)?)),
        Node::Factor(factor) => of_factor(factor, scope),
        Node::Negative(inner) => Ok(-evaluate(inner, scope)?),
        Node::Quotient(inner, divisor) => Ok(evaluate(inner, scope)? / divisor_of(divisor, scope)?),
        Node::Nested(reduction, sum) => {
            let mut total = match reduction {
                Reduction::Sum => Operator::zero(),
                Reduction::Product => build::scalar(1.0),
            };
            reduced(sum, *reduction, &sum.domains, scope, &mut total)?;
            Ok(total)
        }
        Node::Product(nodes) => {
            let mut product = build::scalar(1.0);
            for node in nodes {
                product = match node {
                    Node::Coefficient(value) => product * scope.number(value)?,
                    other => {
                        let factor = evaluate(other, scope)?;
                        product_of(product, factor, scope)?
                    }
                };
            }
            Ok(product)
        }
        Node::Sum { terms, conjugates } => {
            let terms = terms.iter().map(|term| Ok((term.negative, evaluate(&term.node, scope)?)));
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
        Word::Chirality => {
            let vectors = sites.iter().map(|site| scope.names.kinds[*site].vector(*site)).collect::<Option<Vec<_>>>();
            match vectors.map(<[_; 3]>::try_from) {
                Some(Ok(vectors)) => Some(build::triple(vectors)),
                _ => None,
            }
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
            ("electrons", "cdag, c, n with `Up` or `Down`; n(i), sp, sm, sz, sx, sy, sdots, chirality")
        }
        SiteKind::Flavours(1) => ("spinless fermions", "cdag(i), c(i), n(i)"),
        SiteKind::Flavours(_) => ("fermions of flavours", "cdag, c, n with `Flavour(f)`; n(i), sz(i)"),
        SiteKind::Moments { .. } => ("local moments", "sp, sm, sz, sx, sy, sdots, chirality"),
        SiteKind::Qubits => ("qubits", "X, Y, Z"),
        SiteKind::Bosons { .. } => ("bosons", "bdag, b, n"),
    };
    let name = factor.operator.name();
    Err(Error::new_spanned(&factor.call, format!("expected operators of {carries} ({words}), found `{name}`")))
}
