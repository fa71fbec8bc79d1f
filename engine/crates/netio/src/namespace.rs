// SPDX-License-Identifier: Apache-2.0
//! Doing something in another network namespace. A namespace belongs to a thread; sockets stay where they were made.

use std::fs::File;
use std::os::fd::BorrowedFd;

use nix::sched::{CloneFlags, setns};

/// Runs `work` with the calling thread in `namespace` and comes back.
///
/// # Errors
/// What the kernel said when it refused to enter or to return, or `work`'s own error.
pub fn within<T>(namespace: BorrowedFd<'_>, work: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let home = File::open("/proc/thread-self/ns/net")?;
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    let result = work();
    setns(&home, CloneFlags::CLONE_NEWNET)?;
    result
}
