//! Functions of space. Knows no cloth.
