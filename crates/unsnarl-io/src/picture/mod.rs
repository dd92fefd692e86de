//! Pictures drawn in software: no display, no GPU.
