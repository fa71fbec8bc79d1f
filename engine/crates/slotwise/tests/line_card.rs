// SPDX-License-Identifier: Apache-2.0
//! Arguments of `slotwise line-card fifo`. Its function is tested in `slotwise_cards::alone` and, between live routers, in
//! `tests/end_to_end/test_xfer.py`.

use std::process::Command;

#[test]
fn says_what_is_wrong_and_fails() {
    let interfaces = |control, switch, link| ["--control", control, "--switch", switch, "--link", link];
    let rate = ["--port", "2", "--rate-bps", "1000000"];
    let cases: [(Vec<&str>, &str); 5] = [
        (rate.to_vec(), "--control"),
        ([&rate[..], &interfaces("a", "b", "a")].concat(), "three different ones"),
        (
            [&rate[..], &interfaces("no-such-if", "b", "c")].concat(),
            "interface no-such-if",
        ),
        (["--port", "256", "--rate-bps", "1000000"].to_vec(), "1..=255"),
        (["--port", "2", "--rate-bps", "0"].to_vec(), "1000..=400000000000"),
    ];
    for (arguments, message) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_slotwise"))
            .args(["line-card", "fifo"])
            .args(&arguments)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}
