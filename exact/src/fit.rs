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
    /// The refusal of a way where this word of `storage` asks for another.
    pub(super) fn other_storage(word: &str) -> Fit {
        Fit::Refuses(format!("storage = \"{word}\" was asked for"))
    }

    /// The answer of a way that is for a model if it has rows of it; else why it has none.
    pub(super) fn takes_if<R>(rows: Option<R>, why: &str) -> Fit {
        rows.map_or_else(|| Fit::Refuses(why.into()), |_| Fit::Takes)
    }
}
