//! The annotated function: it must return an `Operator`; its `sum!`s are found wherever they stand, in closures and
//! inside the arguments of other macros (`vec![sum!(..), sum!(..)]`) too.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, GenericArgument, Item, ItemFn, Macro, PathArguments, Result, ReturnType, Type};

use super::scope::Scope;
use super::sum::{self, Sum};

/// The function with everything read from it.
pub struct Definition {
    /// The function as written.
    pub function: ItemFn,
    /// Its sums in the order of the text.
    pub sums: Vec<Sum>,
}

/// Reads the annotated item.
pub fn parse_definition(item: TokenStream) -> Result<Definition> {
    let function = function(item)?;
    let scope = Scope::of_function(&function);
    let (mut sums, mut errors) = (Vec::new(), None::<Error>);
    for mac in find(&function) {
        match sum::parse_sum(&mac, &scope) {
            Ok(sum) => sums.push(sum),
            Err(error) => combine(&mut errors, error),
        }
    }
    errors.map_or(Ok(Definition { function, sums }), Err)
}

/// Adds an error to those found so far.
pub fn combine(errors: &mut Option<Error>, error: Error) {
    match errors {
        Some(errors) => errors.combine(error),
        None => *errors = Some(error),
    }
}

/// The function alone, whatever is in its sums.
pub fn function(item: TokenStream) -> Result<ItemFn> {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let not_a_function = match syn::parse2::<Item>(item.clone()) {
                Ok(other) => Error::new_spanned(
                    head(&other),
                    "#[gpu_operator] expected a function that returns `Operator`, found another item: write `fn model(lattice: &Lattice, t: f64) -> Operator { sum!(..) }`",
                ),
                Err(_) => error,
            };
            return Err(not_a_function);
        }
    };
    let returns = match &function.sig.output {
        ReturnType::Type(_, ty) => is_operator(ty),
        ReturnType::Default => false,
    };
    if !returns {
        let found = match &function.sig.output {
            ReturnType::Type(_, ty) => format!("`{}`", ty.to_token_stream()),
            ReturnType::Default => "nothing".to_string(),
        };
        let message = format!(
            "#[gpu_operator] expected a function that returns `Operator`, found one that returns {found}: write `-> Operator`"
        );
        return Err(match &function.sig.output {
            ReturnType::Type(_, ty) => Error::new_spanned(ty, message),
            ReturnType::Default => Error::new_spanned(&function.sig.ident, message),
        });
    }
    if function.block.stmts.is_empty() {
        return Err(Error::new_spanned(
            &function.block,
            "the body is empty: expected at least one sum, such as `sum!(i in lattice.sites(); u * n(i, Up) * n(i, Down))`",
        ));
    }
    Ok(function)
}

/// The first tokens of an item: enough to point at, without its whole body.
fn head(item: &Item) -> TokenStream {
    item.to_token_stream().into_iter().filter(|token| !matches!(token, TokenTree::Group(_))).take(2).collect()
}

/// `Operator`, or `Result<Operator, E>`.
fn is_operator(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    if last.ident == "Operator" {
        return true;
    }
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == "Result" => {
            matches!(arguments.args.first(), Some(GenericArgument::Type(inner)) if is_operator(inner))
        }
        _ => false,
    }
}

/// Every `sum!` of the body, in the order of the text.
fn find(function: &ItemFn) -> Vec<Macro> {
    struct Finder(Vec<Macro>);
    impl VisitMut for Finder {
        fn visit_macro_mut(&mut self, mac: &mut Macro) {
            if sum::is_sum(mac) {
                self.0.push(mac.clone());
            } else {
                each_nested(mac.tokens.clone(), &mut |nested| {
                    self.0.push(nested);
                    TokenStream::new()
                });
            }
            visit_mut::visit_macro_mut(self, mac);
        }
    }
    let mut finder = Finder(Vec::new());
    finder.visit_block_mut(&mut function.block.clone());
    finder.0
}

/// Replaces every `sum!(..)` among the tokens of another macro.
pub fn each_nested(tokens: TokenStream, replace: &mut impl FnMut(Macro) -> TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut result = TokenStream::new();
    let mut at = 0;
    while at < tokens.len() {
        if let [TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(_), ..] = &tokens[at..]
            && name == "sum"
            && bang.as_char() == '!'
            && let Ok(mac) = syn::parse2::<Macro>(tokens[at..at + 3].iter().cloned().collect())
        {
            result.extend(replace(mac));
            at += 3;
            continue;
        }
        match &tokens[at] {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), each_nested(group.stream(), replace));
                inner.set_span(group.span());
                result.extend([TokenTree::Group(inner)]);
            }
            token => result.extend([token.clone()]),
        }
        at += 1;
    }
    result
}
