//! Work without the interpreter lock, on threads of its own, while Ctrl-C is listened for.
//!
//! Guarantees: the lock is free while the engine works; callbacks run on the thread that called; a signal ends [`run`] at once:
//! what was under way is told to stop and let go of. [`run_borrowed`] waits for it, since it works on memory of others.
//! Does not: share threads between calls. A pool costs about 0.1 ms, and nothing has to be told of forks or of other calls.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

/// Time between looks for signals.
const LISTEN: Duration = Duration::from_millis(10);
/// Bytes of stack for every thread, as the command has them.
const STACK: usize = 8 << 20;

/// Whether work should end; cheap to ask.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What work says to the thread that called.
pub enum Word<N, R> {
    /// A step is done: news, and where the answer goes; `false` stops.
    Step(N, SyncSender<bool>),
    /// The end, or a panic.
    Done(std::thread::Result<R>),
}

/// From work to the thread that called.
pub type Line<N, R> = mpsc::Sender<Word<N, R>>;

fn pool(threads: Option<usize>) -> PyResult<ThreadPool> {
    if threads.is_some_and(|threads| threads == 0 || threads > 1024) {
        return Err(PyValueError::new_err("threads: expected a number from 1 to 1024, or None for one per core"));
    }
    (ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).stack_size(STACK).build())
        .map_err(|error| PyRuntimeError::new_err(format!("cannot start the threads: {error}; try threads=1")))
}

/// Works on what it owns. `on_step` hears the news on this thread and says whether to go on.
pub fn run<N: Send + 'static, R: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    stop: &Stop,
    work: impl FnOnce(&Line<N, R>) -> R + Send + 'static,
    mut on_step: impl FnMut(Python<'_>, N) -> PyResult<bool> + Send,
) -> PyResult<R> {
    let pool = pool(threads)?;
    let (line, words) = mpsc::channel();
    pool.spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&line)));
        // Nobody listens any more after a signal.
        let _ = line.send(Word::Done(outcome));
    });
    py.detach(move || {
        listen(&words, stop, |news, answer| {
            let goes_on = Python::attach(|py| on_step(py, news));
            let _ = answer.send(matches!(goes_on, Ok(true)));
            goes_on.map(drop)
        })
    })
}

fn listen<N, R>(
    words: &Receiver<Word<N, R>>,
    stop: &Stop,
    mut on_step: impl FnMut(N, SyncSender<bool>) -> PyResult<()>,
) -> PyResult<R> {
    loop {
        let heard = match words.recv_timeout(LISTEN) {
            Ok(Word::Done(Ok(result))) => return Ok(result),
            Ok(Word::Done(Err(panic))) => return Err(mishap(panic.as_ref())),
            Ok(Word::Step(news, answer)) => on_step(news, answer),
            Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()),
            Err(RecvTimeoutError::Disconnected) => Err(PyRuntimeError::new_err("a thread ended without an answer")),
        };
        if let Err(error) = heard {
            stop.set();
            return Err(error);
        }
    }
}

/// Works on borrowed memory: after a signal the call ends when the work does, which should look at `stop`.
pub fn run_borrowed<R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    stop: &Stop,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    let pool = pool(threads)?;
    let (line, words) = mpsc::channel::<Word<(), R>>();
    py.detach(move || {
        std::thread::scope(|scope| {
            let pool = &pool;
            scope.spawn(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(work)));
                let _ = line.send(Word::Done(outcome));
            });
            listen(&words, stop, |(), _| Ok(()))
        })
    })
}

/// A panic of the engine as an exception.
fn mishap(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    PyRuntimeError::new_err(format!("a fault of the engine: {}; please report it", text.unwrap_or("no words")))
}
