// SPDX-License-Identifier: Apache-2.0
//! Being asked to end.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use slotwise_netio::Waker;

/// Time that work under way has to end after the first interrupt.
const GRACE: Duration = Duration::from_secs(5);

/// Signals that ask a command to end: SIGINT, SIGTERM and SIGHUP, which a command started by `nohup` ignores.
pub fn end_signals() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        signals.push(SIGHUP);
    }
    signals
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all bytes 0 are an action, which the call replaces; it changes no action of the process.
    let (status, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &raw mut action), action)
    };
    status == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Counter of the signals that ask a command to end. The default receives none.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Heard>);

#[derive(Default)]
struct Heard {
    count: AtomicUsize,
    first: OnceLock<Instant>,
    /// Callback for each signal.
    tell: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Interrupts {
    /// Counts SIGINT and SIGTERM from now on; they no longer end the process.
    ///
    /// # Errors
    /// An error of the system.
    pub fn listen() -> io::Result<Interrupts> {
        Interrupts::listen_and(|| ())
    }

    /// Counts signals like [`Interrupts::listen`], and calls `tell` for each one, to wake threads that wait for other events.
    ///
    /// # Errors
    /// An error of the system.
    pub fn listen_and(tell: impl Fn() + Send + Sync + 'static) -> io::Result<Interrupts> {
        let interrupts = Interrupts(Arc::new(Heard {
            tell: Some(Box::new(tell)),
            ..Heard::default()
        }));
        let counter = interrupts.clone();
        let mut signals = Signals::new(end_signals())?;
        thread::spawn(move || {
            for _ in signals.forever() {
                counter.add();
            }
        });
        Ok(interrupts)
    }

    /// The end of standard input counts, too.
    ///
    /// # Errors
    /// An error of the system.
    pub fn listen_to_input(&self) -> io::Result<()> {
        let counter = self.clone();
        when_input_ends(move || counter.add())
    }

    /// Counts one more.
    pub fn add(&self) {
        self.0.first.get_or_init(Instant::now);
        self.0.count.fetch_add(1, Ordering::Relaxed);
        if let Some(tell) = &self.0.tell {
            tell();
        }
    }

    /// So far.
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::Relaxed)
    }

    /// Returns true if work under way is to be given up: from the second interrupt on, or 5 s after the first one.
    pub fn is_pressing(&self) -> bool {
        self.count() > 1 || self.0.first.get().is_some_and(|first| first.elapsed() >= GRACE)
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

/// Ends a loop at a signal that asks for it. The process ends by the signal if the loop does not notice it within 900 ms, or when a second
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
    /// An error of the system.
    pub fn listen(waker: Waker) -> io::Result<Stop> {
        let stop = Stop::default();
        let mut signals = Signals::new(end_signals())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hangup_that_is_ignored_stays_ignored() {
        const IGNORING: &str = "SLOTWISE_TEST_IGNORES_SIGHUP";
        let is_ignoring = std::env::var_os(IGNORING).is_some();
        assert_eq!(is_ignored(SIGHUP), is_ignoring);
        assert_eq!(end_signals().contains(&SIGHUP), !is_ignoring);
        if is_ignoring {
            return;
        }
        // Actions of this process are those of other tests, too.
        let this = std::env::current_exe().unwrap();
        let mut again = std::process::Command::new("sh");
        again
            .args([
                "-c",
                "trap '' HUP; exec \"$0\" --exact interrupts::tests::a_hangup_that_is_ignored_stays_ignored",
            ])
            .arg(this)
            .env(IGNORING, "");
        let done = again.output().unwrap();
        let printed = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && printed.contains("1 passed"), "{printed}");
    }

    #[test]
    fn the_second_interrupt_or_the_end_of_the_grace_is_pressing() {
        let interrupts = Interrupts::default();
        assert!(!interrupts.is_pressing());
        interrupts.add();
        assert_eq!(interrupts.count(), 1);
        interrupts.add();
        assert!(interrupts.is_pressing());
        let long_ago = Instant::now().checked_sub(GRACE).unwrap();
        let patient = Heard {
            count: 1.into(),
            first: long_ago.into(),
            tell: None,
        };
        assert!(Interrupts(Arc::new(patient)).is_pressing());
    }
}
