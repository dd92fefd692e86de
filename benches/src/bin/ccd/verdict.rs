//! Queries with their truth, timed on one thread and counted.

use serde_json::{Value, json};
use std::time::Instant;
use unsnarl_geometry::{DVec3, ccd};

/// Which pair of elements a query moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// A vertex and a triangle.
    VertexTriangle,
    /// Two edges.
    EdgeEdge,
}

impl Elements {
    pub const BOTH: [Self; 2] = [Self::VertexTriangle, Self::EdgeEdge];

    pub fn name(self) -> &'static str {
        match self {
            Self::VertexTriangle => "vertex-triangle",
            Self::EdgeEdge => "edge-edge",
        }
    }
}

/// One query: four points at the start and at the end.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    pub start: [DVec3; 4],
    pub end: [DVec3; 4],
    /// Whether the closed elements touch at some time in [0, 1].
    pub truth: bool,
}

/// What came of a set of queries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub queries: usize,
    pub contacts: usize,
    pub misses: usize,
    pub false_positives: usize,
    pub seconds: f64,
}

const ROUNDS: usize = 7;

/// Answers all queries several times over; the fastest round counts.
pub fn tally(elements: Elements, queries: &[Query]) -> Tally {
    let detect = match elements {
        Elements::VertexTriangle => ccd::vertex_triangle,
        Elements::EdgeEdge => ccd::edge_edge,
    };
    let mut seconds = f64::INFINITY;
    let mut answers = vec![None; queries.len()];
    for _ in 0..ROUNDS {
        let clock = Instant::now();
        for (query, answer) in queries.iter().zip(&mut answers) {
            *answer = detect(query.start, query.end, 0.0);
        }
        seconds = seconds.min(clock.elapsed().as_secs_f64());
    }
    let count = |truth: bool, answered: bool| {
        let both = queries.iter().zip(&answers);
        both.filter(|(query, answer)| query.truth == truth && answer.is_some() == answered).count()
    };
    Tally {
        queries: queries.len(),
        contacts: count(true, true) + count(true, false),
        misses: count(true, false),
        false_positives: count(false, true),
        seconds,
    }
}

impl Tally {
    /// One line for people.
    pub fn print(&self, set: &str, elements: Elements) {
        super::say(format!(
            "{set} {}: {} queries, {} contacts, {} misses, {} false positives, {:.0} ns a query",
            elements.name(),
            self.queries,
            self.contacts,
            self.misses,
            self.false_positives,
            1e9 * self.seconds / self.queries.max(1) as f64
        ));
    }

    /// The same for programs.
    pub fn json(&self, set: &str, elements: Elements) -> Value {
        json!({
            "set": set,
            "elements": elements.name(),
            "queries": self.queries,
            "contacts": self.contacts,
            "misses": self.misses,
            "false_positives": self.false_positives,
            "seconds": self.seconds,
        })
    }
}
