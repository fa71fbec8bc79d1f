// SPDX-License-Identifier: Apache-2.0
//! Being asked to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How often SIGINT, SIGTERM or SIGHUP came. The default hears none.
#[derive(Debug, Clone, Default)]
pub struct Interrupts(Arc<AtomicUsize>);

impl Interrupts {
    /// From now on the signals are counted here and end nothing by themselves.
    ///
    /// # Errors
    /// What the system says against it.
    pub fn listen() -> io::Result<Interrupts> {
        let interrupts = Interrupts::default();
        let counter = interrupts.clone();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        thread::spawn(move || {
            for _ in signals.forever() {
                counter.0.fetch_add(1, Ordering::Relaxed);
            }
        });
        Ok(interrupts)
    }

    /// The end of standard input counts, too.
    ///
    /// # Errors
    /// What the system says against it.
    pub fn listen_to_input(&self) -> io::Result<()> {
        let counter = self.0.clone();
        when_input_ends(move || {
            counter.fetch_add(1, Ordering::Relaxed);
        })
    }

    /// So far.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls `end` when standard input has ended: whoever holds its other end has closed it, or is no more.
///
/// # Errors
/// What the system says against a thread.
pub fn when_input_ends(end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let read = move || {
        // An input that cannot be read has ended.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        end();
    };
    thread::Builder::new().name("input".into()).spawn(read).map(drop)
}
