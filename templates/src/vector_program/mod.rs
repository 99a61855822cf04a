//! Fused vector programs: language, parser and CUDA text.
