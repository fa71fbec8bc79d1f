# SPDX-License-Identifier: Apache-2.0
"""Addresses, ports and flows come from the engine: the package has no rule of its own for them."""

import re
from pathlib import Path

import pytest

from slotwise.resolved import Resolved
from slotwise.tools import home

PACKAGE = home.root() / "python" / "slotwise"
RULES = {
    "address of hosts": r"(?<![\d.])10(\.\d+){1,3}|0x0A|10 << 24",
    "Ethernet address": r"\b02:|0x02|\.to_bytes\(6",
    "prefix length of hosts": r"/8\b",
    "port of flows": r"52\d\d|FIRST_PORT",
    "port of switches": r"access_port\b|index \+ 1",
    "name of hosts": r"f\"h\{",
    "interface of switches": r"-eth\{",
    "reader of scenarios": r"SafeLoader|jsonschema",
}
"""Patterns of what only the engine knows."""
ALLOWED = {
    # Generated of P4: numbers of ports with a meaning for programs.
    "wire.py",
    # Addresses of WireGuard and of probes, not of hosts.
    "live/tunnel.py",
    # Examples of arguments in docstrings.
    "tools/gtp.py",
    "tools/farm.py",
}
SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if str(path.relative_to(PACKAGE)) not in ALLOWED]


@pytest.mark.parametrize("rule", RULES)
def test_python_has_no_rule_of(rule):
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(RULES[rule], line)
    ]
    assert not found


@pytest.mark.parametrize("rule", RULES)
def test_the_patterns_find_the_rules_that_there_were(rule):
    lines = [
        "str(ipaddress.IPv4Address((10 << 24) | (self.edge << 8) | (self.index + 1)))",
        "(0x02FC_0000_0000 + self.number).to_bytes(6, 'big').hex(':')",
        'ip=f"{host.ip}/8"',
        "FIRST_PORT = 5201",
        "return self.index + 1",
        'return f"h{self.edge}_{self.index}"',
        'interface = f"{switch}-eth{port}"',
        "class _Loader(yaml.SafeLoader):",
    ]
    assert any(re.search(RULES[rule], line) for line in lines)


def test_a_text_that_is_no_resolved_scenario_is_refused():
    for text in ("", "[]", "{}", '{"name": 1}', "[" * 100_000):
        with pytest.raises(ValueError, match=r"not a resolved scenario|JSON|Expecting"):
            Resolved.parse(text)


def test_the_package_says_that_it_has_types():
    assert Path(PACKAGE, "py.typed").exists()
