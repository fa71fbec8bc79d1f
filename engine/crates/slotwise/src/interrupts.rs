// SPDX-License-Identifier: Apache-2.0
//! Being asked to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use slotwise_netio::Waker;

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

/// How long a loop may take to hear that it is to end. A packet may be under way, or nobody reads its log.
const HEARING_PATIENCE: Duration = Duration::from_millis(900);

/// Ends a loop at SIGINT or SIGTERM. The process ends by the signal if the loop does not hear it within 900 ms, or when a second
/// one comes.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<StopFlags>);

#[derive(Debug, Default)]
struct StopFlags {
    requested: AtomicBool,
    heard: AtomicBool,
}

impl Stop {
    /// From now on the signals wake the loop.
    ///
    /// # Errors
    /// What the system says against it.
    pub fn listen(waker: Waker) -> io::Result<Stop> {
        let stop = Stop::default();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let flags = stop.0.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            flags.requested.store(true, Ordering::Relaxed);
            waker.wake();
            let patience = thread::Builder::new().name("patience".into());
            let _ = patience.spawn(move || {
                thread::sleep(HEARING_PATIENCE);
                if !flags.heard.load(Ordering::Relaxed) {
                    let _ = emulate_default_handler(signal);
                }
            });
            if let Some(signal) = signals.forever().next() {
                let _ = emulate_default_handler(signal);
            }
        })?;
        Ok(stop)
    }

    /// Whether the loop is to end, which it hears with that.
    pub fn is_requested(&self) -> bool {
        let is_requested = self.0.requested.load(Ordering::Relaxed);
        if is_requested {
            self.0.heard.store(true, Ordering::Relaxed);
        }
        is_requested
    }
}
