// SPDX-License-Identifier: Apache-2.0
//! Names that a file of before may have: of keys, and of words that stand under keys.

use crate::spelling::is_spelling;

/// Keys of before and of now.
const KEYS: [(&str, &str); 31] = [
    ("acknowledgements", "acks"),
    ("begin_bps", "initial_rate_bps"),
    ("bucket_bytes", "bucket_depth_bytes"),
    ("calm_intervals", "clear_intervals"),
    ("conversion", "wavelength_conversion"),
    ("crowd", "concurrent_increase"),
    ("deflections", "max_deflections"),
    ("each", "edges_per_switch"),
    ("each", "flows_per_pair"),
    ("edge", "at"),
    ("half", "open"),
    ("hops", "max_hops"),
    ("knife_edge", "near_target"),
    ("least_ns", "min_ns"),
    ("limit_bps", "source_limit_bps"),
    ("link_changes", "changes"),
    ("measure", "packet_stats"),
    ("most_ns", "max_ns"),
    ("relief", "hysteresis"),
    ("router", "at"),
    ("rto_tick_ms", "rto_granularity_ms"),
    ("scheduler_changes", "changes"),
    ("spread_ms", "start_jitter_ms"),
    ("station", "at"),
    ("target", "target_utilization"),
    ("traffic", "flows"),
    ("trains", "bursts"),
    ("wait_intervals", "correction_intervals"),
    ("watch_intervals", "monitor_intervals"),
    ("window_packets", "max_window_segments"),
    ("xcp_bps", "xcp_capacity_bps"),
];

/// Words of before and of now.
const WORDS: [(&str, &str); 4] = [
    ("as-printed", "as-published"),
    ("fair", "scfq"),
    ("link-cut", "link-down"),
    ("opsedge-restart", "ops-edge-restart"),
];

/// Name of now of a key that is written as one of before, among those that a mapping may have.
pub(crate) fn key(written: &str, known: &[&str]) -> Option<String> {
    let mut renamed = KEYS
        .iter()
        .filter(|(before, now)| is_spelling(written, before) && known.contains(now));
    let (before, now) = renamed.next()?;
    let suffix = &before[written.len()..];
    Some(now.strip_suffix(suffix).unwrap_or(now).to_owned())
}

/// Returns whether `written` is a name of before of a key.
pub(crate) fn is_before(written: &str, key: &str) -> bool {
    KEYS.iter()
        .any(|(before, now)| *now == key && is_spelling(written, before))
}

/// Word of now for one of before, among those that may be there.
pub(crate) fn word<'w>(written: &str, mut words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    words.find(|word| WORDS.contains(&(written, *word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_before_has_one_name_where_it_may_stand() {
        assert_eq!(
            key("relief", &["threshold", "hysteresis"]).as_deref(),
            Some("hysteresis")
        );
        assert_eq!(key("relief", &["threshold"]), None);
        assert_eq!(key("spread", &["start_jitter_ms"]).as_deref(), Some("start_jitter"));
        assert_eq!(
            key("each", &["flows_per_pair", "from"]).as_deref(),
            Some("flows_per_pair")
        );
        assert!(is_before("xcp", "xcp_capacity_bps") && !is_before("rate", "rate_bps"));
        assert_eq!(word("fair", ["fifo", "scfq"].into_iter()), Some("scfq"));
        assert_eq!(word("fair", ["islip"].into_iter()), None);
    }
}
