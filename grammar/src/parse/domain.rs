//! What a sum runs over: `<i, j> in BONDS` (optionally with weight, type and number), `i in INDICES`, `s in [Up, Down]`, each
//! with an optional filter `if CONDITION`.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Result, Token};

use super::scope::{Role, Scope};
use crate::vocabulary::{self, Spin};

/// The variables of one domain.
#[derive(Clone, Debug)]
pub enum Loop {
    /// `<i, j, weight, kind, number>` over bonds; the last three may be left out, any may be `_`.
    Bond(Vec<Option<Ident>>),
    /// `i` over indices.
    Index(Ident),
    /// `s` over spins.
    Spin(Ident, Vec<Spin>),
}

/// One domain of a sum.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The variables it binds.
    pub variables: Loop,
    /// What is iterated, a Rust expression.
    pub source: Expr,
    /// Only the members for which this holds.
    pub filter: Option<Expr>,
    /// Bonds whose weight nothing in the sum uses, though it is not waved away by `_`.
    pub leaves_out_weight: bool,
}

impl Domain {
    /// The variables with their roles, in order.
    pub fn roles(&self) -> Vec<(Ident, Role)> {
        match &self.variables {
            Loop::Bond(names) => {
                let roles = [Role::Index, Role::Index, Role::Weight, Role::BondKind, Role::Index];
                names.iter().zip(roles).filter_map(|(name, role)| name.clone().map(|name| (name, role))).collect()
            }
            Loop::Index(name) => vec![(name.clone(), Role::Index)],
            Loop::Spin(name, values) => vec![(name.clone(), Role::Spin(values.clone()))],
        }
    }
}

impl Parse for Domain {
    fn parse(input: ParseStream) -> Result<Domain> {
        let bond = input.peek(Token![<]);
        let names = if bond { bond_names(input)? } else { vec![variable(input)?] };
        if !input.peek(Token![in]) {
            return Err(input.error("expected `in` and what the sum runs over, such as `i in lattice.sites()`"));
        }
        input.parse::<Token![in]>()?;
        let source = Expr::parse_without_eager_brace(input)?;
        let filter = if input.peek(Token![if]) {
            input.parse::<Token![if]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        let variables = if bond {
            Loop::Bond(names)
        } else {
            let Some(name) = names.into_iter().next().flatten() else {
                return Err(Error::new_spanned(&source, "expected a name for the index of this domain, found `_`"));
            };
            match spins(&source)? {
                Some(values) => Loop::Spin(name, values),
                None => Loop::Index(name),
            }
        };
        Ok(Domain { variables, source, filter, leaves_out_weight: false })
    }
}

fn variable(input: ParseStream) -> Result<Option<Ident>> {
    if input.peek(Token![_]) {
        input.parse::<Token![_]>()?;
        return Ok(None);
    }
    if !input.peek(Ident) {
        return Err(
            input.error("expected a domain: `<i, j> in lattice.bonds()`, `i in lattice.sites()` or `s in [Up, Down]`")
        );
    }
    let name: Ident = input.call(Ident::parse_any)?;
    if Spin::named(&name.to_string()).is_some() {
        return Err(Error::new_spanned(
            &name,
            format!("expected the name of an index, found the spin `{name}`: write `s in [Up, Down]`"),
        ));
    }
    Ok(Some(name))
}

fn bond_names(input: ParseStream) -> Result<Vec<Option<Ident>>> {
    let open: Token![<] = input.parse()?;
    let mut names = Vec::new();
    loop {
        names.push(variable(input)?);
        if !input.peek(Token![,]) {
            break;
        }
        input.parse::<Token![,]>()?;
    }
    if !input.peek(Token![>]) {
        return Err(input.error("expected `>` after the names of a bond, as in `<i, j> in lattice.bonds()`"));
    }
    let close: Token![>] = input.parse()?;
    if !(2..=5).contains(&names.len()) {
        let mut whole = open.to_token_stream();
        close.to_tokens(&mut whole);
        return Err(Error::new_spanned(
            whole,
            format!(
                "expected 2 to 5 names of a bond, found {}: `<i, j>`, `<i, j, weight>`, `<i, j, weight, kind>` or `<i, j, weight, kind, number>`",
                names.len()
            ),
        ));
    }
    Ok(names)
}

/// The spins of a literal array; `None` when the array or expression is of something else.
fn spins(source: &Expr) -> Result<Option<Vec<Spin>>> {
    let Expr::Array(array) = source else { return Ok(None) };
    let names: Option<Vec<&Ident>> = array.elems.iter().map(last_name).collect();
    let Some(names) = names else { return Ok(None) };
    let known: Vec<Option<Spin>> = names.iter().map(|name| Spin::named(&name.to_string())).collect();
    let meant = |name: &Ident| {
        let text = name.to_string();
        text.starts_with(char::is_uppercase) && vocabulary::meant_spin(&text).is_some()
    };
    if names.is_empty() || !(known.iter().any(Option::is_some) || names.iter().any(|name| meant(name))) {
        return Ok(None);
    }
    for (position, (name, spin)) in names.iter().zip(&known).enumerate() {
        if spin.is_none() {
            return Err(unknown_spin(name));
        }
        if known[..position].contains(spin) {
            return Err(Error::new_spanned(name, format!("`{name}` is listed twice: each spin would be summed twice")));
        }
    }
    Ok(Some(known.into_iter().flatten().collect()))
}

/// The error for a name that stands where a spin should.
pub(super) fn unknown_spin(name: &Ident) -> Error {
    let hint = match vocabulary::meant_spin(&name.to_string()) {
        Some(spin) => format!("did you mean `{}`?", spin.name()),
        None => "a spin variable is bound by `s in [Up, Down]`".to_string(),
    };
    Error::new_spanned(name, format!("unknown spin `{name}`: expected Up, Down or a spin variable of the sum; {hint}"))
}

/// The last name of a path such as `Up` or `Spin::Up`.
pub fn last_name(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) if path.qself.is_none() => path.path.segments.last().map(|segment| &segment.ident),
        _ => None,
    }
}

/// Marks the domains of bonds whose weight does not stand in `tokens`, the whole sum, but where it is bound.
pub(super) fn mark_weights(domains: &mut [Domain], tokens: &TokenStream) {
    for domain in domains {
        let Loop::Bond(names) = &domain.variables else { continue };
        domain.leaves_out_weight = match names.get(2) {
            None => true,
            Some(None) => false,
            Some(Some(weight)) => times(weight, tokens.clone()) < 2,
        };
    }
}

/// How often a name stands in tokens.
fn times(name: &Ident, tokens: TokenStream) -> usize {
    let count = |token: TokenTree| match token {
        TokenTree::Ident(found) => usize::from(found == *name),
        TokenTree::Group(group) => times(name, group.stream()),
        _ => 0,
    };
    tokens.into_iter().map(count).sum()
}

/// Adds the variables of the domains to the names of the function; a name bound twice is refused.
pub(super) fn bind(domains: &[Domain], scope: &mut Scope) -> Result<()> {
    for (name, role) in domains.iter().flat_map(Domain::roles) {
        if scope.role(&name).is_some() {
            return Err(Error::new_spanned(
                &name,
                format!("`{name}` is already an index of this sum: give each domain a name of its own"),
            ));
        }
        scope.variables.push((name, role));
    }
    Ok(())
}
