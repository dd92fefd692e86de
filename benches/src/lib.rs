//! Shared pieces of the benches: timing and tables.
