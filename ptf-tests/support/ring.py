# SPDX-License-Identifier: Apache-2.0
"""Station in the middle of a ring of eight, with a host. The tests send the line card's ticks, so that none depends on a clock."""

from slotwise import wire
from slotwise.wire import LineCardKind, RingClass, RingKind, RingMode
from support.base import SwitchTest, ethernet, frame, ipv4, sealed_on_ring

HOST_PORT = 1
MAC, HOST_MAC = 0x02FD00000003, 0x020000000003
STATIONS, BEFORE, STATION, NEXT = 8, 2, 3, 4
WEST, EAST = wire.PORT_RING_WEST, wire.PORT_RING_EAST
HERE, THERE = 0x0A030001, 0x0A060001
THERE_STATION, HOPS = 6, 3
# 150 Mb/s, 85 % and 80 % of it, in byte/s; an interval is 100 us.
CAPACITY, TARGET, RELIEF = 18_750_000, 15_937_500, 15_000_000
INTERVAL_NS = 100_000
STEP = CAPACITY >> 6
WINDOW, CALM, HOLD, WAIT = 2, 3, 4, 2
ROUNDING = 4  # byte/s, of a quotient times a weight
PAYLOAD = b"payload of no protocol in particular"


class RingTest(SwitchTest):
    program = "ring"
    mode = RingMode.EXPLICIT
    weight = 1
    watch = 0
    shift = 0  # of the estimators: they show the last interval

    @staticmethod
    def seal(data):
        return sealed_on_ring(data)

    def setUp(self):
        super().setUp()
        self.added = self.committed = 0
        self.sequence = 0
        self.configure()

    def configure(self):
        self.switch.set_default(
            "station_params", "set_station", station=STATION, stations=STATIONS, mac=MAC, weight=self.weight
        )
        for ringlet, downstream in ((0, NEXT), (1, BEFORE)):
            self.switch.insert(
                "ringlet",
                {"ringlet": ringlet},
                "set_ringlet",
                downstream=downstream,
                mode=self.mode,
                capacity=CAPACITY,
                target=TARGET,
                relief=RELIEF,
            )
        self.switch.set_default(
            "ring_timing",
            "set_timing",
            interval_ns=INTERVAL_NS,
            intervals_q8=256 * 10_000,
            old_shift=self.shift,
            new_shift=self.shift,
            window=WINDOW,
            windows_q8=256 * 10_000 // WINDOW,
            bucket_bytes=100,
            hol_timer_ns=1_000_000,
            calm_intervals=CALM,
            hold_intervals=HOLD,
            wait_intervals=WAIT,
            report_intervals=1,
            watch_intervals=self.watch,
        )
        self.switch.insert("ipv4_route", {"dst": (HERE, 32)}, "to_host", port=HOST_PORT, mac=HOST_MAC)
        self.switch.insert("ipv4_route", {"dst": (THERE, 32)}, "to_station", station=THERE_STATION)
        self.switch.insert("ring_way", {"station": THERE_STATION}, "reach", ringlet=0, hops=HOPS)

    # ---- data

    def send_ip(self, dst=THERE, **fields):
        self.send(HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=MAC), ipv4(dst, PAYLOAD, **fields), PAYLOAD)

    def expect_added(self, port=EAST, hops=HOPS, traffic_class=RingClass.BEST_EFFORT, sequence=1, ringlet=0, **fields):
        """Expects the packet of send_ip on the ring."""
        self.expect(
            port,
            ethernet(wire.ETHERTYPE_OPTICAL, dst=MAC),
            ring(traffic_class=traffic_class, ringlet=ringlet, weight=self.weight),
            wire.RingData(queue=256 * traffic_class + hops, inner_type=wire.ETHERTYPE_IPV4, sequence=sequence),
            ipv4(THERE, PAYLOAD, ttl=63, **fields),
            PAYLOAD,
        )

    def pass_through(self, size, source=1, weight=1, ttl=None, traffic_class=RingClass.BEST_EFFORT):
        """Forwards `size` bytes of a transit packet from `source` to another station."""
        ttl = ttl or STATIONS - (STATION - source) + 1
        parts = transit(size, source=source, weight=weight, traffic_class=traffic_class)
        self.send(WEST, ethernet(wire.ETHERTYPE_OPTICAL), ring(ttl=ttl, **parts[0]), *parts[1:])
        self.expect(EAST, ethernet(wire.ETHERTYPE_OPTICAL), ring(ttl=ttl - 1, **parts[0]), *parts[1:])

    # ---- the card

    def tick(self, added=0, committed=0, hol_delay_ns=0, repeat=0, local_ns=0, port=EAST):
        """Ends an interval with this number of bytes added by the line card."""
        self.added = (self.added + added) % (1 << 32)
        self.committed += committed
        self.send(wire.PORT_LINECARD, *ring_tick(port, repeat, hol_delay_ns, self.added, self.committed, local_ns))

    def expect_limits(self, *limits, ticks=None, port=EAST):
        """Expects these limits (hops, rate; None: any rate) at the line card; returns the rates."""
        found = self.received(wire.PORT_LINECARD)
        header = frame(ethernet(wire.ETHERTYPE_LINECARD), linecard(LineCardKind.ADD_LIMITS, port))
        self.assertEqual(found[: len(header)].hex(), header.hex())
        told = wire.AddLimits.decode(found[len(header) :])
        self.assertEqual(told.next_ns, INTERVAL_NS)
        if ticks is not None:
            self.assertEqual(told.ticks, ticks, "ticks")
        start = len(header) + wire.AddLimits.SIZE
        self.assertEqual(len(found), start + wire.FAIRNESS_ENTRIES * wire.AddLimit.SIZE)
        entries = [wire.AddLimit.decode(found[start + i * wire.AddLimit.SIZE :]) for i in range(wire.FAIRNESS_ENTRIES)]
        unused = [wire.AddLimit(hops=0, rate=wire.NO_LIMIT)] * (wire.FAIRNESS_ENTRIES - len(limits))
        self.assertEqual(entries[len(limits) :], unused)
        for entry, (hops, rate) in zip(entries, limits, strict=False):
            self.assertEqual(entry.hops, hops, f"of {entries}")
            if rate is not None:
                self.assertAlmostEqual(entry.rate, rate, delta=ROUNDING, msg=f"of {entries}")
        return [entry.rate for entry in entries[: len(limits)]]

    def tick_and_expect(self, *limits, ticks=None, **fields):
        self.tick(**fields)
        return self.expect_limits(*limits, ticks=ticks)

    # ---- messages

    def told(self, *entries, port=EAST, **fields):
        """Sends a message of the next station and waits until it has been processed."""
        self.sequence += 1
        self.send(port, fairness(*entries, **{"sequence": self.sequence, **fields}))
        self.handled(port)

    def expect_told(self, *entries, sequence=1, ttl=1, port=WEST, destination=BEFORE, ringlet=0):
        """Expects an advertisement of these (head, hops, reach, rate) to the previous station."""
        expected = fairness(
            *entries,
            sequence=sequence,
            source=STATION,
            destination=destination,
            weight=self.weight,
            ringlet=ringlet,
            ttl=ttl,
        )
        self.expect(port, expected)

    def tick_for_message(self, **fields):
        self.tick(repeat=1, **fields)


class TickedTest(RingTest):
    """Tests after an idle interval."""

    def setUp(self):
        super().setUp()
        self.tick_and_expect(ticks=0)

    def congest(self, transit_bytes=900, added=900, source=1):
        """Fills the link by this station and `source`."""
        self.pass_through(transit_bytes, source)
        self.tick(added=added)


def linecard(kind, port=EAST):
    return wire.Linecard(version=wire.LINECARD_VERSION, kind=kind, port=port)


def ring_tick(port, repeat, hol_delay_ns, added, committed, local_ns):
    return (
        ethernet(wire.ETHERTYPE_LINECARD),
        linecard(LineCardKind.RING_TICK, port),
        wire.RingTick(
            repeat=repeat, hol_delay_ns=hol_delay_ns, added_bytes=added, committed_bytes=committed, local_ns=local_ns
        ),
    )


def ring(**fields):
    defaults = dict(
        version=wire.RING_VERSION,
        kind=RingKind.DATA,
        ttl=STATIONS,
        ringlet=0,
        weight=1,
        source=STATION,
        destination=THERE_STATION,
    )
    return wire.Ring(**{**defaults, **fields})


def transit(size, **fields):
    """Fields of the ring header and the headers behind it, for a frame of `size` bytes."""
    rest = size - wire.Ethernet.SIZE - wire.Ring.SIZE - wire.RingData.SIZE
    return fields, wire.RingData(queue=HOPS, inner_type=0x88B7, sequence=7), bytes(rest)


def fairness_parts(*entries, sequence=1, source=NEXT, destination=STATION, weight=1, ringlet=0, ttl=1, count=None):
    told = [wire.FairnessEntry(head=head, hops=hops, reach=reach, rate=rate) for head, hops, reach, rate in entries]
    unused = [wire.FairnessEntry()] * (wire.FAIRNESS_ENTRIES - len(entries))
    return frame(
        ethernet(wire.ETHERTYPE_OPTICAL),
        ring(kind=RingKind.FAIRNESS, ttl=ttl, ringlet=ringlet, weight=weight, source=source, destination=destination),
        wire.Fairness(sequence=sequence, entries=len(entries) if count is None else count),
        *told,
        *unused,
    )


def fairness(*entries, **fields):
    """Message with (head, hops, reach, rate) entries, 64 bytes."""
    return sealed_on_ring(fairness_parts(*entries, **fields))
