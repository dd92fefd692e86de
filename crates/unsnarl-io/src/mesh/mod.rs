//! Mesh files: OBJ, PLY, STL, OFF, glTF, USD.
