# SPDX-License-Identifier: Apache-2.0
"""Many mutated frames and one digest of the switch's outputs, which must be the same for every target."""

import hashlib
import time
from pathlib import Path

import ptf

from slotwise import wire
from support.base import DEADLINE_S, UNKNOWN_VERSION, ethernet, frame

FRAMES = 600
MIN_LENGTH = wire.Ethernet.SIZE  # what a raw socket can send
# Told from any hostile frame by its length, in a counter's bytes as well.
MARKER = frame(ethernet(wire.ETHERTYPE_OPTICAL), bytes([UNKNOWN_VERSION << 4]), bytes(1485))
END = frame(ethernet(wire.ETHERTYPE_OPTICAL), b"end")


class Numbers:
    """Pseudo-random numbers that are the same in all versions of Python."""

    def __init__(self, seed):
        self.seed, self.count = seed, 0

    def below(self, bound):
        self.count += 1
        return int.from_bytes(hashlib.sha256(f"{self.seed} {self.count}".encode()).digest()[:8], "big") % bound

    def bytes(self, length):
        return bytes(self.below(256) for _ in range(length))

    def choice(self, options):
        return options[self.below(len(options))]


def mutate(numbers, whole):
    """Returns the frame itself, or with flipped bits, truncated, extended, or with another payload."""
    kind = numbers.below(5)
    if kind == 1:
        turned = bytearray(whole)
        for _ in range(1 + numbers.below(3)):
            bit = 8 * 12 + numbers.below(8 * (len(whole) - 12))  # the addresses play no part
            turned[bit // 8] ^= 1 << bit % 8
        return bytes(turned)
    if kind == 2:
        return whole[: MIN_LENGTH + numbers.below(len(whole) - MIN_LENGTH)]
    if kind == 3:
        return whole + numbers.bytes(1 + numbers.below(40))
    if kind == 4:
        return whole[:MIN_LENGTH] + numbers.bytes(numbers.below(80))
    return whole


class Hostile:
    """Mixin of a SwitchTest."""

    def digest_of(self, templates, ports, last=()):
        """Send FRAMES mutated frames, each into its template's port or by chance another one; hash what left by
        each port, what the controller got, and what was dropped for which reason.

        `templates` is a list of (port, frame); port PORT_CPU is a packet-out to PORT_SELF. `ports` are those by which
        frames may leave. `last` is sent last, the same way, and its last frame must become a packet-in, if any may. The
        transcript that was hashed is written beside PTF's log, to be compared with another target's.
        """
        numbers = Numbers(type(self).__name__)
        self.left = {}
        self.markers_left = 0
        transcript = []
        for _ in range(FRAMES):
            port, whole = numbers.choice(templates)
            if numbers.below(8) == 0:
                port = numbers.choice(templates)[0]
            # Most messages of the controller are whole, whatever they say.
            if port == wire.PORT_CPU and numbers.below(4) == 0:
                data = mutate(numbers, self.seal(whole))
            elif port == wire.PORT_CPU:
                data = self.seal(mutate(numbers, whole))
            else:
                data = mutate(numbers, whole)
            transcript.append(f"sent into {port}: {data.hex()}")
            self.send_and_wait(port, data, ports[0])
        for port in ports:
            self.collect_until_end(port)
        for port, frames in sorted(self.left.items()):
            transcript += [f"left by {port}: {data.hex()}" for data in frames]
        transcript += self.packet_ins(last, ports[0])
        transcript += [f"dropped, {r.name}: {self.drops(r)}" for r in wire.DropReason if self.drops(r)]
        text = "\n".join(transcript) + "\n"
        log = Path(ptf.config["log_file"])
        log.with_name(f"{log.stem}-{type(self).__name__}.txt").write_text(text, encoding="ascii")
        return hashlib.sha256(text.encode()).hexdigest()

    def send_and_wait(self, port, data, marker_port):
        """Sends one frame and waits until it has been processed: a marker sent after it has been dropped or has left."""
        before = self.marker_bytes()
        if port == wire.PORT_CPU:
            self.switch.packet_out(wire.PORT_SELF, data)
            self.switch.packet_out(marker_port, MARKER)
        else:
            self.dataplane.send(0, port, data)
            self.dataplane.send(0, port, MARKER)
        deadline = time.monotonic() + DEADLINE_S
        while self.marker_bytes() < before + len(MARKER):
            self.assertLess(time.monotonic(), deadline, f"frame into port {port} not handled in time: {data.hex()}")

    def marker_bytes(self):
        """Counter that grows by a marker's length with each marker; a dropped hostile frame adds less."""
        self.collect()
        return self.markers_left * len(MARKER) + self.switch.counter("drops")[1]

    def collect(self, timeout_s=0):
        """Receives all frames that left the switch; returns the last one, or None."""
        last = None
        while isinstance(result := self.dataplane.poll(device_number=0, timeout=timeout_s), self.dataplane.PollSuccess):
            last = result.packet
            if last == MARKER:
                self.markers_left += 1
            elif last != END:
                self.left.setdefault(result.port, []).append(last)
            else:
                break
        return last

    def collect_until_end(self, port):
        self.switch.packet_out(port, END)
        self.assertEqual(self.collect(DEADLINE_S), END, f"last frame by port {port}")

    def packet_ins(self, last, marker_port):
        if not last:
            self.assertTrue(self.switch.packet_ins.empty(), "packet-in")
            return []
        for port, data in last[:-1]:
            self.send_and_wait(port, data, marker_port)
        self.send(*last[-1])
        found = []
        expected = (last[-1][0], self.seal(last[-1][1]))
        while not found or found[-1] != expected:
            found.append(self.switch.packet_in(DEADLINE_S))
        return [f"packet-in from {port}: {data.hex()}" for port, data in found]
