//! Compiles generated CUDA with NVRTC, runs it, and runs the eigensolvers. Knows no physics.

pub mod jit;
