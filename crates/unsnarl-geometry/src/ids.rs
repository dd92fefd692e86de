//! Typed indices: mixing a vertex with a triangle does not compile.

macro_rules! id {
    ($name:ident, $what:literal) => {
        #[doc = concat!("The index of ", $what, " in its mesh.")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// From an array index. Meshes hold fewer than 2^32 elements: readers refuse larger ones.
            pub fn new(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self(index as u32)
            }

            /// As an array index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

id!(VertexId, "a vertex");
id!(EdgeId, "an edge");
id!(TriangleId, "a triangle");
