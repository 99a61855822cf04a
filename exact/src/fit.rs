//! Whether a way to multiply is for a model, and why not.

/// Whether a way is for a model.
pub(super) enum Fit {
    /// It is.
    Takes,
    /// It is for such models, but not for this one, with the reason.
    Refuses(String),
    /// It is for models of another kind.
    Foreign,
}

impl Fit {
    /// Another way was asked for by a word of `storage`.
    pub(super) fn asked(word: &str) -> Fit {
        Fit::Refuses(format!("storage = \"{word}\" was asked for"))
    }

    /// The answer of a way that plans rows where it can.
    pub(super) fn planned<R>(rows: Option<R>, why: &str) -> Fit {
        rows.map_or_else(|| Fit::Refuses(why.into()), |_| Fit::Takes)
    }
}
