//! Work for a card and work of the cores at the same time.

/// What `run` gives while a thread of its own makes what comes next, if there is something; `None` also where that has failed.
pub fn overlapped<T, N: Send>(
    run: impl FnOnce() -> T,
    next: Option<impl FnOnce() -> Option<N> + Send>,
) -> (T, Option<N>) {
    std::thread::scope(|scope| {
        let next = next.map(|next| scope.spawn(next));
        let made = run();
        (made, next.and_then(|next| next.join().ok()?))
    })
}
