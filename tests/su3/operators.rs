//! Operators whose tensors are known beforehand.
