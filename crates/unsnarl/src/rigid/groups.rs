//! Bodies that are connected by pairs: disjoint sets with the lowest number as the name of each.

/// Disjoint sets of bodies.
pub(super) struct Groups {
    parent: Vec<usize>,
}

impl Groups {
    /// Each body alone.
    pub(super) fn new(count: usize) -> Self {
        Self { parent: (0..count).collect() }
    }

    /// The name of a body's group.
    pub(super) fn find(&mut self, mut body: usize) -> usize {
        while self.parent[body] != body {
            self.parent[body] = self.parent[self.parent[body]];
            body = self.parent[body];
        }
        body
    }

    pub(super) fn join(&mut self, [a, b]: [usize; 2]) {
        let [a, b] = [self.find(a), self.find(b)];
        self.parent[a.max(b)] = a.min(b);
    }

    /// Bodies in the largest group.
    pub(super) fn largest(&mut self) -> usize {
        let mut sizes = vec![0; self.parent.len()];
        for body in 0..self.parent.len() {
            sizes[self.find(body)] += 1;
        }
        sizes.into_iter().max().unwrap_or(0)
    }
}
