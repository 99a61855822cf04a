//! What a generated text uses of its top-level paragraphs: functions, constants, kernels.
//!
//! In: a text. Out: the text without paragraphs that define only names which nothing else in it reads. A paragraph ends at an
//! empty line outside of braces; one whose definitions are not all understood (types, operators, tables) always stays.

use crate::files;
use std::collections::HashSet;

/// What begins a function of the device.
const FUNCTION: &str = "__forceinline__ ";
/// What begins a constant.
const CONSTANT: &str = "constexpr ";
/// What begins a kernel.
const KERNEL: &str = "extern \"C\" __global__";

/// The text without the functions and constants of the prelude that nothing in it reads.
pub(crate) fn without_unused_prelude(text: &str) -> String {
    let sources = [files::PRELUDE, files::REAL_NUMBERS, files::COMPLEX_NUMBERS];
    let candidates = sources.iter().flat_map(|part| paragraphs(part.source)).filter(|part| text.contains(part));
    without_unused(text, candidates.map(|part| (part, definitions(part))).collect())
}

/// The text without the other kernels and what only they use.
pub(crate) fn text_of_kernel(text: &str, entries: &[String], kernel: &str) -> String {
    let others: Vec<&str> = entries.iter().map(String::as_str).filter(|entry| *entry != kernel).collect();
    if others.len() == entries.len() || others.is_empty() {
        return text.to_string();
    }
    let is_own = |part: &str| defines_kernel(part, kernel);
    let names = |part| if is_kernel(part) { Some(Vec::new()) } else { definitions(part) };
    let candidates = paragraphs(text).filter(|part| !is_own(part)).map(|part| (part, names(part))).collect();
    let kept = without_unused(text, candidates);
    format!(
        "{}\n\n// Not shown: {}, and what only they use; `--dump DIR` writes the whole text.\n",
        kept.trim_end(),
        others.join(", ")
    )
}

fn is_kernel(part: &str) -> bool {
    part.contains(KERNEL)
}

fn defines_kernel(part: &str, kernel: &str) -> bool {
    let head = part.split_once(KERNEL).and_then(|(_, after)| after.split('{').next());
    head.is_some_and(|head| words(head).any(|word| word == kernel))
}

/// The text without candidates whose names nothing else reads; candidates without names (`None`) stay.
fn without_unused(text: &str, candidates: Vec<(&str, Option<Vec<&str>>)>) -> String {
    let mut unread: Vec<(&str, Vec<&str>)> =
        candidates.into_iter().filter_map(|(part, names)| Some((part, names?))).collect();
    let rest = unread.iter().fold(text.to_string(), |text, (part, _)| text.replacen(part, "", 1));
    let mut read: HashSet<&str> = words(&rest).collect();
    loop {
        let (used, others): (Vec<_>, Vec<_>) =
            unread.into_iter().partition(|(_, names)| names.iter().any(|name| read.contains(name)));
        unread = others;
        if used.is_empty() {
            break;
        }
        read.extend(used.iter().flat_map(|(part, _)| words(part)));
    }
    unread.iter().fold(text.to_string(), |text, (part, _)| text.replacen(&format!("{part}\n\n"), "", 1))
}

/// The paragraphs of a text.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    let (mut begin, mut at, mut depth) = (0, 0, 0_i64);
    let mut parts = Vec::new();
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        depth += code.matches('{').count() as i64 - code.matches('}').count() as i64;
        if line.trim().is_empty() && depth == 0 {
            parts.push(&text[begin..at]);
            begin = at + line.len();
        }
        at += line.len();
    }
    parts.push(&text[begin..]);
    parts.into_iter().map(|part| part.trim_matches('\n')).filter(|part| !part.is_empty())
}

/// The names that a paragraph of functions and constants defines; `None` if it defines anything else.
fn definitions(part: &str) -> Option<Vec<&str>> {
    let outside = |line: &&str| {
        let inner = line.is_empty() || line.starts_with([' ', '{', '}', '#']) || line.starts_with("//");
        !inner && !line.starts_with("template ")
    };
    let names = |line| match line_of_declarations(line) {
        true => declared(&part[part.find(line)?..]),
        false => defined(line),
    };
    let names: Option<Vec<Vec<&str>>> = part.lines().filter(outside).map(names).collect();
    Some(names?.concat())
}

/// Whether a line begins to declare functions by the name of their type: `Run run_0, run_1;`.
fn line_of_declarations(line: &str) -> bool {
    line.split_once(FUNCTION).is_some_and(|(_, rest)| !rest.contains('('))
}

/// The functions that such a statement declares.
fn declared(statement: &str) -> Option<Vec<&str>> {
    let (_, list) = statement.split(';').next()?.split_once(FUNCTION)?;
    Some(words(list).skip(1).collect())
}

/// The names that a line begins to define: one function, the type of one, or constants.
fn defined<'a>(line: &'a str) -> Option<Vec<&'a str>> {
    let last_word = |head: &'a str| words(head).last();
    if let Some((_, function)) = line.split_once(FUNCTION) {
        let head = function.split_once('(')?.0;
        return if head.contains("operator") { None } else { Some(vec![last_word(head)?]) };
    }
    if let Some(kind) = line.strip_prefix("typedef ") {
        return Some(vec![last_word(kind.split_once('(')?.0)?]);
    }
    let constants = line.strip_prefix(CONSTANT)?.split(';').next()?;
    // `i64 A = 1, B[2] = {`: a name is what stands before `=` and its lengths.
    let last_name = |head: &'a str| str::rsplit(head, ", ").next()?.split('[').next().and_then(last_word);
    let heads = constants.split(" = ").map(last_name);
    let mut names: Vec<&str> = heads.collect::<Option<_>>()?;
    // Behind the last `=` there is a value.
    names.pop();
    (!names.is_empty()).then_some(names)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_of_a_word(c)).filter(|word| !word.is_empty())
}

fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Warp, prelude_of_numbers};

    #[test]
    fn a_text_has_of_the_prelude_what_it_reads() {
        let text = |body: &str| {
            without_unused_prelude(&format!("// A file.\n\n{}\n{body}", prelude_of_numbers(Warp::NVIDIA, true)))
        };
        let functions = |body: &str| -> Vec<String> {
            let text = text(body);
            assert!(text.starts_with("// A file.\n\n// eigenforge prelude") && text.ends_with(body), "{text}");
            let all = ["lane_share", "warp_sum", "MOST_WARPS", "block_sum", "parity", "negated_by_top_bit", "conj_of"];
            all.iter().filter(|name| words(&text).any(|word| word == **name)).map(|name| name.to_string()).collect()
        };
        assert_eq!(functions("x = 1;\n"), [""; 0]);
        assert_eq!(functions("x = parity(y);\n"), ["parity"]);
        assert_eq!(functions("x = block_sum<64>(y, z);\n"), ["lane_share", "warp_sum", "MOST_WARPS", "block_sum"]);
        // Both overloads, and what the one of complex numbers calls.
        let both = text("x = conj_of(y);\n");
        assert!(both.contains("double conj_of(") && both.contains("c64 conj_of("));
        // Types, the width of a warp and operators of numbers stay.
        let none = text("");
        for kept in
            ["typedef long long i64;", "constexpr int WARP = 32;", "struct alignas(16) c64", "operator*(const c64& a"]
        {
            assert!(none.contains(kept), "{kept}");
        }
        assert!(!none.contains("\n\n\n"), "{none}");
    }

    #[test]
    fn a_kernel_is_shown_with_what_it_calls() {
        let text = "// A file.\n\ntypedef double value_t;\n\nconstexpr int N = 3;\n\n// Twice.\n__device__ __forceinline__ double \
                    twice(double x)\n{\n\n    return 2 * x;\n}\n\n__device__ __forceinline__ double thrice(double x) { return 3 * x; }\n\n\
                    extern \"C\" __global__ void __launch_bounds__(N)\nfirst(double* x)\n{\n    x[0] = twice(x[1]);\n}\n\n\
                    // Of three.\nextern \"C\" __global__ void __launch_bounds__(N)\nsecond(double* x)\n{\n    x[0] = thrice(x[1]);\n}\n";
        let entries = ["first".to_string(), "second".to_string()];
        let shown = text_of_kernel(text, &entries, "second");
        assert!(shown.contains("typedef") && shown.contains("N = 3") && shown.contains("thrice(x[1])"), "{shown}");
        assert!(!shown.contains("twice"), "{shown}");
        assert!(
            shown.ends_with("\n\n// Not shown: first, and what only they use; `--dump DIR` writes the whole text.\n"),
            "{shown}"
        );
        assert_eq!(text_of_kernel(text, &entries, "file"), text);
        assert_eq!(text_of_kernel(text, &entries[..1], "first"), text);
    }

    #[test]
    fn what_is_not_understood_stays() {
        assert_eq!(definitions("typedef double value_t;"), None);
        assert_eq!(definitions("__constant__ double table[3] = {1, 2, 3};"), None);
        assert_eq!(definitions("__device__ __forceinline__ c64 operator-(const c64& a) { return a; }"), None);
        let runs = "typedef double Run(\n    int x);\n__device__ __forceinline__ Run run_0, run_1,\n    run_2;";
        assert_eq!(definitions(runs), Some(vec!["Run", "run_0", "run_1", "run_2"]));
        assert_eq!(definitions("constexpr i64 DIMENSION = 4;"), Some(vec!["DIMENSION"]));
        assert_eq!(definitions("constexpr i64 A = B[1], C[2] = {1, 2};"), Some(vec!["A", "C"]));
        assert_eq!(definitions("constexpr u64 mask[2] = {1, 2};"), Some(vec!["mask"]));
        let sum = "// Sum.\ntemplate <int THREADS>\n__device__ __forceinline__ double block_sum(double value)\n{\n}";
        assert_eq!(definitions(sum), Some(vec!["block_sum"]));
    }
}
