# SPDX-License-Identifier: Apache-2.0
import pytest

from support import PORTS, Cable, Switch


@pytest.fixture(scope="module")
def switch():
    """A switch without a program."""
    running = Switch()
    yield running
    running.stop()


@pytest.fixture
def cables():
    """The far ends of its ports, by number; frames sent before a test are not seen by it."""
    ends = {port: Cable(port) for port in PORTS}
    yield ends
    for end in ends.values():
        end.socket.close()
