// SPDX-License-Identifier: Apache-2.0
//! Meter rates: between P4Runtime's messages and the engine's.

use slotwise_p4::MeterConfig;

use crate::error::ApiError;
use crate::p4info::MeterKind;
use crate::proto::p4::v1;

/// Checks rates for a meter of this kind.
pub(super) fn parse(kind: MeterKind, config: &v1::MeterConfig) -> Result<MeterConfig, ApiError> {
    let rate = |name: &str, value: i64| {
        u64::try_from(value).map_err(|_| ApiError::invalid(format!("{name} {value} is negative")))
    };
    let wanted = MeterConfig {
        committed_rate: rate("cir", config.cir)?,
        committed_burst: rate("cburst", config.cburst)?,
        peak_rate: rate("pir", config.pir)?,
        peak_burst: rate("pburst", config.pburst)?,
        excess_burst: rate("eburst", config.eburst)?,
    };
    let has_one_rate = config.pir == config.cir && config.pburst == config.cburst;
    match kind {
        MeterKind::TwoRateThreeColor if wanted.peak_rate < wanted.committed_rate => {
            return Err(ApiError::invalid("pir is below cir"));
        }
        MeterKind::SingleRateThreeColor | MeterKind::SingleRateTwoColor if !has_one_rate => {
            return Err(ApiError::invalid(
                "a single-rate meter has pir = cir and pburst = cburst",
            ));
        }
        _ => {}
    }
    if wanted.excess_burst > 0 && kind != MeterKind::SingleRateThreeColor {
        return Err(ApiError::invalid("eburst is for single-rate three-color meters"));
    }
    Ok(wanted)
}

/// Rates for an answer.
pub(super) fn encode(config: &MeterConfig) -> v1::MeterConfig {
    let rate = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    v1::MeterConfig {
        cir: rate(config.committed_rate),
        cburst: rate(config.committed_burst),
        pir: rate(config.peak_rate),
        pburst: rate(config.peak_burst),
        eburst: rate(config.excess_burst),
    }
}

/// Counters by color do not exist here.
pub(super) fn refuse_counters(data: Option<&v1::MeterCounterData>) -> Result<(), ApiError> {
    match data {
        None => Ok(()),
        Some(_) => Err(ApiError::unimplemented("counters of meter colors are not supported")),
    }
}
