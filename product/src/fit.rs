//! Whether a way to multiply is for a model or a space, and why not.

/// Whether a way is for a model or a space.
#[derive(Debug)]
pub enum Fit {
    /// It is.
    Takes,
    /// It is for those of this kind, but not for this one, with the reason.
    Refuses(String),
    /// It could be taken, but another was asked for, with the reason.
    Declines(String),
    /// It is for those of another kind.
    Foreign,
}

impl Fit {
    /// The answer of a way where this word of `storage` asks for another.
    pub fn other_storage(word: &str) -> Fit {
        Fit::Declines(format!("storage = \"{word}\" was asked for"))
    }

    /// The answer of a way that is for a model if it has rows of it; else why it has none.
    pub fn takes_if<R>(rows: Option<R>, why: &str) -> Fit {
        rows.map_or_else(|| Fit::Refuses(why.into()), |_| Fit::Takes)
    }
}
