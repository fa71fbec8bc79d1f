# SPDX-License-Identifier: Apache-2.0
"""Runs of the engine's command, new scenarios, sweeps on Dask, file transfer."""
