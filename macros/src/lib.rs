//! `#[gpu_operator]`: second quantisation in, operator terms and CUDA expressions out.
//!
//! In: the tokens of a function whose body holds `sum!(DOMAINS; EXPR)`. Out: the same function, each `sum!` replaced by
//! Rust that enumerates its terms through `eigenforge::operator::build`, together with the CUDA text of its
//! coefficients and of its expression when that is diagonal. Errors are found at compile time and stand at the term.
//!
//! ```text
//! tokens → eigenforge-grammar (description) → check/ (products: parity, charges, conjugates) → generate/ (Rust and CUDA)
//! ```
//!
//! The grammar's `parse/` and `generate/` here mirror each other file by file; the meaning of the operators lives in `eigenforge`.

#![warn(missing_docs)]

mod check;
mod expand;
mod generate;

use eigenforge_grammar::{parse, vocabulary};

use proc_macro::TokenStream;

/// Makes a model of a function that returns `Operator` and writes its terms with `sum!`.
///
/// ```ignore
/// /// Hubbard model with a repulsion of its own on each site:
/// /// H = −t Σ_⟨ij⟩σ (c†_iσ c_jσ + h.c.) + Σ_i U_i n_i↑ n_i↓
/// #[gpu_operator(conserves(Up, Down))]
/// fn hubbard(lattice: &Lattice, t: f64, u: &[f64]) -> Operator {
///     sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
///         + sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
/// }
/// ```
///
/// (Runnable examples are in the documentation of the `eigenforge` crate.) Each `sum!(DOMAINS; EXPR)` is an expression
/// of type `Operator`; around it the body is ordinary Rust: `let`, `if`, loops, closures, `sum!(..) + 2.0 * sum!(..)`.
///
/// # Domains
///
/// Separated by commas, nested in the order written, each with an optional filter `if CONDITION`:
///
/// | domain | runs over |
/// |---|---|
/// | `<i, j> in EXPR` | bonds: anything that iterates `Bond`, `&Bond` or pairs such as `[0, 1]`, **each bond once**, from i to j along its direction |
/// | `<i, j, w, kind, b> in EXPR` | the same with the bond's weight, type and number in EXPR; the last may be left out, `_` for what is not needed |
/// | `i in EXPR` | indices: any `IntoIterator<Item = usize>`; a later domain may use an earlier index |
/// | `s in [Up, Down]` | spins, a literal array |
///
/// A bond whose weight is not 1 under a sum that does not use it (`<i, j>`, or a `w` that stands nowhere else) is an error of
/// the model, which names the sum; `<i, j, _>` says that weights are not meant.
///
/// ```ignore
/// sum!(i in lattice.sites(), j in lattice.sites() if i < j; v / lattice.distance(i, j) * n(i) * n(j))
/// ```
///
/// A molecule's orbitals are indices as sites are, and a parameter `integrals: &Integrals` says how many there are:
///
/// ```ignore
/// let m = integrals.orbitals;
/// sum!(p in 0..m, q in 0..m, s in [Up, Down]; integrals.one(p, q) * cdag(p, s) * c(q, s))
///     + sum!(p in 0..m, q in 0..m, r in 0..m, t in 0..m, s in [Up, Down], u in [Up, Down];
///         0.5 * integrals.two(p, q, r, t) * cdag(p, s) * cdag(r, u) * c(t, u) * c(q, s))
///     + integrals.core
/// ```
///
/// needs no `h.c.`, since each term is the conjugate of another, and goes to configuration interaction by
/// `Integrals::from_operator` (documentation of `eigenforge::ci`).
///
/// Fermions of spin F have 2F + 1 flavours in place of `Up` and `Down`, each named by its number; such a model is solved by
/// DMRG:
///
/// ```ignore
/// sum!(<i, j> in lattice.bonds(), f in 0..flavours; -t * (cdag(i, Flavour(f)) * c(j, Flavour(f)) + h.c.))
///     + sum!(i in lattice.sites(), f in 0..flavours, g in 0..f; u * n(i, Flavour(f)) * n(i, Flavour(g)))
/// ```
///
/// # Expressions
///
/// `+`, `-`, `*`, unary `-`, `/ number`, parentheses, numbers, and
///
/// | operator | meaning |
/// |---|---|
/// | `cdag(i, s)`, `c(i, s)` | c†_is, c_is |
/// | `n(i, s)`, `n(i)` | c†c; without the spin n_i↑ + n_i↓ |
/// | `sp(i)`, `sm(i)`, `sz(i)`, `sx(i)` | S⁺, S⁻, Sᶻ, Sˣ = (S⁺ + S⁻)/2, with S = σ/2 for spin ½ |
/// | `sdots(i, j)`, `chirality(i, j, k)` | Sᵢ·Sⱼ, Sᵢ·(Sⱼ × S_k) |
/// | `x ^ 2`, `x ** 2` | a whole power of an operator, tighter than signs and products |
/// | `exp(I * x)` | a phase |
/// | `sum(DOMAINS; EXPR)`, `prod(DOMAINS; EXPR)` | a sum, and a product from left to right, inside the expression |
/// | `h.c.` | as an addend: the Hermitian conjugate of all other addends of its sum |
///
/// Where c†, c or n occur anywhere in the function, spin operators mean the spin of the electrons,
/// S⁺ = c†_↑ c_↓ and Sᶻ = (n_↑ − n_↓)/2; otherwise local moments, of spin ½ unless [`spin`] says otherwise. Sites of both
/// kinds in one function (a Kondo lattice) are an error of the model. Squares such as `sdots(i, j) * sdots(i, j)` of moments
/// of spin ½ are warned of (`Model::warnings`, and reports): they say nothing new, and `.spin(2)` may have been forgotten.
///
/// [`spin`]: https://docs.rs/eigenforge/latest/eigenforge/operator/struct.Operator.html#method.spin
///
/// # Coefficients
///
/// Whatever holds no operator is a real coefficient: f64 arithmetic of parameters, locals and loop variables. It is
/// translated to CUDA as well, so it must be made of
///
/// * numbers, parameters and locals by name, fields (`self.t`), elements `u[i]`, `u.len()`, `std::f64::consts::PI`;
/// * `+ - * / %`, comparisons, `&& || !`, integer `& | << >>`; `x ^ 2` and `x ** 2` are powers, `as f64`, `as i32`, `as i64`, `as usize`;
/// * `if .. { } else { }` with one expression in each branch; a spin may be compared: `if s == Up { h } else { -h }`;
/// * the methods of f64: sqrt cbrt exp exp2 exp_m1 ln ln_1p log2 log10 sin cos tan asin acos atan atan2 sinh cosh tanh
///   hypot powi powf abs min max clamp floor ceil round trunc mul_add recip copysign to_radians; of integers abs min
///   max abs_diff is_multiple_of;
/// * `lattice.x(i)`, `lattice.y(i)`, `lattice.distance(i, j)`;
/// * elements of integral tables: `integrals.one(p, q)`, `integrals.two(p, q, r, s)` of `eigenforge::ci::Integrals`,
///   `dipole.at(p, q)` of a `OneElectron`. These stay in Rust: (pq|rs) of a few orbitals would fill constant memory, so
///   each summand carries its own value, and the CUDA text calls it `integrals_two_p_q_r_s`. `integrals.core` may be added
///   to an operator.
///
/// Integers divide as integers in both languages. Loop variables are `usize` in Rust: a difference of indices must not
/// become negative (`i.abs_diff(j)`, or cast first). Refused, since the two languages would differ: f32 arithmetic
/// (cast to f64), other casts, integer `pow`, `signum`, `rem_euclid`, `%` between values of unknown type. Anything else
/// is computed before the sum, with `let` or into a slice.
///
/// # Arguments of the attribute
///
/// * `conserves(Up, Down)`, `conserves(N)`, `conserves(Sz)`: every product must keep these charges, for every value of
///   its spin variables.
/// * `non_hermitian`: the definition is not meant to be Hermitian by itself (a current, a pair field).
///
/// # Errors
///
/// At compile time, at the term: unknown operators and spins (with the nearest known name), wrong arguments, odd
/// fermion parity, a term that leaves the declared sector, a missing Hermitian conjugate, a coefficient without CUDA
/// translation. Hermiticity is checked symbolically, up to the order of factors, permutations of indices over the same
/// domain and shifts of an index; what symbols cannot decide is left to the check of the numbers when the model is built.
#[proc_macro_attribute]
pub fn gpu_operator(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::gpu_operator(attribute.into(), item.into()).into()
}

/// `sum!` outside a definition: an error that says where it belongs.
#[proc_macro]
pub fn sum(_: TokenStream) -> TokenStream {
    let message = "`sum!` is known inside functions marked `#[gpu_operator]` only: mark the function, and let it return `Operator`";
    syn::Error::new(proc_macro2::Span::call_site(), message).to_compile_error().into()
}
