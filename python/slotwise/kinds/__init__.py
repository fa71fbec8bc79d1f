# SPDX-License-Identifier: Apache-2.0
"""Network types: a class and a builder each."""
