# SPDX-License-Identifier: Apache-2.0
"""Results of runs: reports, data sets of sweeps, plots."""
