//! Checks that the plan has every field that its template uses.
//!
//! In: a template and the plan as the engine sees it. Out: nothing, or the first missing field, with the line and the
//! available fields. All branches are checked, also those that this plan does not take; the fields of list elements
//! (`group.flip` in a loop over `groups`) are known only where a loop runs, so those are found while rendering.

use crate::text::TextError;
use minijinja::{Template, Value};

/// Returns an error for the first field, in the order of the template's lines, that is missing from the plan.
pub(crate) fn check(name: &'static str, template: &Template, plan: &Value) -> Result<(), TextError> {
    let source = template.source();
    let missing =
        |path: String| missing(source, plan, &path).map(|(place, known)| (line_of(source, &path), path, place, known));
    let first = template.undeclared_variables(true).into_iter().filter_map(missing).min();
    match first {
        None => Ok(()),
        Some((line, field, place, known)) => Err(TextError::MissingField { template: name, line, field, place, known }),
    }
}

/// The engine's error while rendering, with the missing field if that is the cause.
pub(crate) fn explain(name: &'static str, source: &str, plan: &Value, refused: minijinja::Error) -> TextError {
    let line = refused.line().unwrap_or(0);
    let named = paths(source.lines().nth(line.saturating_sub(1)).unwrap_or_default());
    let found =
        named.into_iter().find_map(|path| missing(source, plan, path).map(|(place, known)| (path, place, known)));
    match found {
        Some((field, place, known)) if refused.kind() == minijinja::ErrorKind::UndefinedError => {
            TextError::MissingField { template: name, line, field: field.into(), place, known }
        }
        _ => TextError::Template { template: name, line, source: refused },
    }
}

/// Where a dotted path ends early: the last existing part, and its fields.
fn missing(source: &str, plan: &Value, path: &str) -> Option<(String, Vec<String>)> {
    let mut at = String::new();
    let mut value = plan.clone();
    for (depth, part) in path.split('.').enumerate() {
        let next = value.get_attr(part).ok().filter(|next| !next.is_undefined());
        let next = if depth == 0 { next.or_else(|| element(source, plan, part)) } else { next };
        match next {
            Some(next) => value = next,
            // The name of a loop without elements, or of a macro's argument: nothing is known of it.
            None if depth == 0 && is_bound(source, part) => return None,
            None => {
                let place = if at.is_empty() { "the plan".into() } else { format!("`{at}`") };
                return Some((place, fields(&value)));
            }
        }
        at = if at.is_empty() { part.into() } else { format!("{at}.{part}") };
    }
    None
}

fn fields(value: &Value) -> Vec<String> {
    let names = value.try_iter().into_iter().flatten();
    if value.kind() == minijinja::value::ValueKind::Map { names.map(|name| name.to_string()).collect() } else { vec![] }
}

/// The first element of the list that the loop variable `name` runs over.
fn element(source: &str, plan: &Value, name: &str) -> Option<Value> {
    let list = source.split(&format!("for {name} in ")).nth(1)?;
    let path = list.split(|c: char| !is_part(c)).next()?;
    let (root, rest) = path.split_once('.').unwrap_or((path, ""));
    let start = plan.get_attr(root).ok().filter(|value| !value.is_undefined());
    let start = start.or_else(|| if root == name { None } else { element(source, plan, root) })?;
    let list =
        rest.split('.').filter(|part| !part.is_empty()).try_fold(start, |value, part| value.get_attr(part).ok())?;
    list.get_item(&Value::from(0)).ok().filter(|value| !value.is_undefined())
}

/// Whether the template itself defines the name, or it is not a name of the template at all.
fn is_bound(source: &str, name: &str) -> bool {
    let bound = [format!("for {name} in "), format!("set {name} ")];
    let argument = |line: &str| line.contains(" macro ") && paths(line).contains(&name);
    bound.iter().any(|words| source.contains(words)) || source.lines().any(argument) || !in_tags(source, name)
}

/// Whether the name occurs inside `${ }` or `<% %>`, and not only in the CUDA text around.
fn in_tags(source: &str, name: &str) -> bool {
    let inside = |open: &str, close: &str| {
        source
            .split(open)
            .skip(1)
            .filter_map(|rest| rest.split(close).next())
            .any(|tag| paths(tag).iter().any(|path| path.split('.').next() == Some(name)))
    };
    inside("${", "}") || inside("<%", "%>")
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// The dotted names in a text.
fn paths(text: &str) -> Vec<&str> {
    text.split(|c| !is_part(c)).filter(|path| path.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).collect()
}

/// The first line that contains the path; 0 if none contains all of it.
fn line_of(source: &str, path: &str) -> usize {
    let names = |line: &str| {
        paths(line)
            .iter()
            .any(|found| found.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    source.lines().position(names).map_or(0, |line| line + 1)
}

#[cfg(test)]
mod tests {
    use crate::files::Template;
    use crate::text::{TextError, fragment};
    use serde::Serialize;

    #[derive(Serialize)]
    struct Species {
        states: u64,
        word: Option<String>,
    }

    #[derive(Serialize)]
    struct Plan {
        name: String,
        up: Species,
        groups: Vec<Group>,
    }

    #[derive(Serialize)]
    struct Group {
        flip: u64,
        terms: Vec<Species>,
    }

    fn plan() -> Plan {
        let species = || Species { states: 7, word: None };
        Plan { name: "ring".into(), up: species(), groups: vec![Group { flip: 3, terms: vec![species()] }] }
    }

    fn refusal(source: &'static str) -> String {
        fragment(Template { name: "ring.cu.jinja", source }, &plan()).unwrap_err().to_string()
    }

    #[test]
    fn a_missing_field_is_named_with_its_line_and_the_fields_there_are() {
        assert_eq!(
            refusal("// ${ name }\nconst int n = ${ up.stats };\n"),
            "template ring.cu.jinja, line 2: `up.stats` is not in the plan; `up` has states, word. The plan and the template \
             disagree, which is a fault of eigenforge: please report it"
        );
        let message = refusal("${ names }");
        assert!(message.contains("line 1: `names` is not in the plan; the plan has name, up, groups."), "{message}");
        let message = refusal("\n\n${ name.length }");
        assert!(message.contains("line 3: `name.length` is not in the plan; `name` has no fields."), "{message}");
    }

    #[test]
    fn a_branch_that_is_not_taken_is_checked_too() {
        let message = refusal("<% if up.word %>\n${ up.wrd }\n<% endif %>\n");
        assert!(message.contains("line 2: `up.wrd` is not in the plan; `up` has states, word"), "{message}");
        assert_eq!(
            fragment(Template { name: "t", source: "<% if up.word %>${ up.word }<% endif %>${ up.states }" }, &plan())
                .unwrap(),
            "7"
        );
    }

    #[test]
    fn a_field_of_a_list_element_is_found_missing_by_the_loop() {
        let nested =
            "<% for group in groups %>\n<% for term in group.terms %>\n${ term.sign }\n<% endfor %>\n<% endfor %>\n";
        let message = refusal(nested);
        assert!(message.contains("line 3: `term.sign` is not in the plan; `term` has states, word."), "{message}");
        let message = refusal("<% for group in groups %>\nthreadIdx.x + ${ group.flop }\n<% endfor %>\n");
        assert!(message.contains("line 2: `group.flop` is not in the plan; `group` has flip, terms."), "{message}");
    }

    #[test]
    fn what_is_no_missing_field_keeps_the_words_of_the_engine() {
        let error = fragment(Template { name: "ring.cu.jinja", source: "a\n<% if %>" }, &plan()).unwrap_err();
        assert!(matches!(error, TextError::Template { line: 2, .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.contains("template ring.cu.jinja, line 2: syntax error"), "{message}");
    }
}
