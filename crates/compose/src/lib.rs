//! Skills that compile to tools.
