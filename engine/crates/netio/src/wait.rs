// SPDX-License-Identifier: Apache-2.0
//! Waiting for descriptors.

use std::io;
use std::time::Duration;

use nix::sys::time::TimeSpec;

/// Waits until one of `watched` is ready, the timeout is over or a signal came; `revents` say what is ready.
///
/// # Errors
/// What the kernel said.
pub(crate) fn wait(watched: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(TimeSpec::from_duration);
    let timeout_pointer = timeout
        .as_ref()
        .map_or(std::ptr::null(), |time| std::ptr::from_ref(time.as_ref()));
    // SAFETY: array and length are the caller's; the timeout is null or points to a live local.
    let ready = unsafe {
        libc::ppoll(
            watched.as_mut_ptr(),
            watched.len() as libc::nfds_t,
            timeout_pointer,
            std::ptr::null(),
        )
    };
    if ready < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}
