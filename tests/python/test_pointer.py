# SPDX-License-Identifier: Apache-2.0
"""Values at JSON pointers, by the examples that the engine tests, too."""

import copy
import json

from slotwise.tools import home, pointer


def test_the_examples_come_out():
    examples = json.loads((home.root() / "schema" / "examples" / "pointers.json").read_text())
    assert len(examples) > 10
    for example in examples:
        document = copy.deepcopy(example["document"])
        try:
            pointer.put(document, example["pointer"], example["value"])
        except pointer.Nowhere:
            document = "nothing is there"
        assert document == example["expected"], example["pointer"]
