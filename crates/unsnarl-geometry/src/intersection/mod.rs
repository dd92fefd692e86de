//! Where triangles meet.
