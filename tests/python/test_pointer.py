# SPDX-License-Identifier: Apache-2.0
"""Values at JSON pointers, by the examples that the engine tests, too."""

import copy
import json

from slotwise.tools import home, sweep


def test_the_examples_come_out():
    examples = json.loads((home.root() / "schema" / "examples" / "pointers.json").read_text())
    assert len(examples) > 10
    for example in examples:
        document = copy.deepcopy(example["document"])
        try:
            sweep.put(document, example["pointer"], example["value"])
        except sweep.Nowhere:
            document = "nothing is there"
        assert document == example["expected"], example["pointer"]
