// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import java.util.Objects;
import java.util.Optional;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.wire.Limits;
import org.slotwise.wire.WireConstants;

/** What all optical packet switches and edges of a network have alike. Immutable and valid. */
public final class OpsSettings {
    /** Most wavelengths for data of a fibre. */
    public static final int MAX_WAVELENGTHS = TrafficClass.MAX_WAVELENGTHS;
    /** Most bits of a port's number that say the wavelength. */
    public static final int MAX_FIBRE_SHIFT = 4;
    /** Largest optical RAM of an output, bytes. */
    public static final long MAX_RAM_BYTES = 1L << 30;
    /** Longest train, bytes. */
    public static final int MAX_LONGEST_BYTES = (1 << 24) - 1;
    /** Most bytes of each frame that links do not count. */
    public static final int MAX_FRAMING_BYTES = 50;
    /** Most of them where a train has several frames: Ethernet's header and the optical one. */
    public static final int MAX_FRAMING_OF_TRAINS = 30;
    /** Longest guard, ns. */
    public static final long MAX_GUARD_NS = 1_000_000;
    /** Of deflections: as many as it takes. */
    public static final int MAX_DEFLECTIONS = 255;
    /** Fewest switches and edges that a train may reach. */
    public static final int MIN_HOPS = 2;
    /** Most switches and edges that a train may reach. */
    public static final int MAX_HOPS = 255;

    private final int wavelengths;
    private final boolean conversion;
    private final int fibreShift;
    private final Optional<OpsProbes> probes;
    private final long rateBps;
    private final TimestampUnit unit;
    private final long ramBytes;
    private final int longestBytes;
    private final int framingBytes;
    private final long guardNs;
    private final int deflections;
    private final int hops;
    private final double target;
    private final OpsTraffic traffic;

    /** Collects the parts. */
    public static final class Builder {
        private int wavelengths = 1;
        private boolean conversion;
        private int fibreShift;
        private OpsProbes probes;
        private long rateBps;
        private TimestampUnit unit = TimestampUnit.NS;
        private long ramBytes;
        private int longestBytes;
        private int framingBytes;
        private long guardNs;
        private int deflections;
        private int hops = MAX_HOPS;
        private double target = 1;
        private OpsTraffic traffic = new OpsTraffic.Builder().build();

        /** Wavelengths for data, whether switches change a train's, and bits of a port's number that say which one it is of. */
        public Builder wavelengths(int count, boolean isConverted, int shift) {
            wavelengths = count;
            conversion = isConverted;
            fibreShift = shift;
            return this;
        }

        /** With a wavelength for probes, and agents at outputs. */
        public Builder probes(OpsProbes with) {
            probes = Objects.requireNonNull(with);
            return this;
        }

        /** Rate of a wavelength for data, bit/s. */
        public Builder rateBps(long bps) {
            rateBps = bps;
            return this;
        }

        /** In what switches tell time. */
        public Builder unit(TimestampUnit of) {
            unit = Objects.requireNonNull(of);
            return this;
        }

        /** Optical RAM of an output; none is 0. */
        public Builder ramBytes(long bytes) {
            ramBytes = bytes;
            return this;
        }

        /** Of a train, as links count it; of each frame, what they do not count; and the time that stays free behind a train. */
        public Builder trains(int longest, int framing, long guard) {
            longestBytes = longest;
            framingBytes = framing;
            guardNs = guard;
            return this;
        }

        /** How often a train may be deflected, {@link #MAX_DEFLECTIONS} without end, and how many switches and edges it may reach. */
        public Builder ways(int mayBeDeflected, int mayReach) {
            deflections = mayBeDeflected;
            hops = mayReach;
            return this;
        }

        /** Part of an output's rate that its agent aims at, above 0, at most 1. */
        public Builder target(double part) {
            target = part;
            return this;
        }

        /** What edges make of packets. */
        public Builder traffic(OpsTraffic of) {
            traffic = Objects.requireNonNull(of);
            return this;
        }

        /** All of it; throws {@link InvalidNetworkException} with the place and the reason if a number is out of its range. */
        public OpsSettings build() {
            return new OpsSettings(this);
        }
    }

    private OpsSettings(Builder from) {
        this.wavelengths = (int) Ranges.check("wavelengths", from.wavelengths, 1, MAX_WAVELENGTHS);
        this.conversion = from.conversion;
        this.fibreShift = (int) Ranges.check("fibre_shift", from.fibreShift, 0, MAX_FIBRE_SHIFT);
        this.probes = Optional.ofNullable(from.probes);
        this.rateBps = Ranges.check("rate_bps", from.rateBps, Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
        this.unit = from.unit;
        this.ramBytes = Ranges.check("ram_bytes", from.ramBytes, 0, MAX_RAM_BYTES);
        this.longestBytes = (int) Ranges.check("longest_bytes", from.longestBytes, 1, MAX_LONGEST_BYTES);
        this.framingBytes = (int) Ranges.check("framing_bytes", from.framingBytes, 0, MAX_FRAMING_BYTES);
        this.guardNs = Ranges.check("guard_ns", from.guardNs, 0, MAX_GUARD_NS);
        this.deflections = (int) Ranges.check("deflections", from.deflections, 0, MAX_DEFLECTIONS);
        this.hops = (int) Ranges.check("hops", from.hops, MIN_HOPS, MAX_HOPS);
        this.target = from.target;
        this.traffic = from.traffic;
        if (!isTarget(target)) {
            throw new InvalidNetworkException("target", "expected a value above 0 and at most 1, got " + target);
        }
        if (ports() > 1 << fibreShift) {
            throw new InvalidNetworkException("fibre_shift", "too small: 2^" + fibreShift + " ports per fibre; expected at least " + ports());
        }
        traffic.classes().values().forEach(each -> {
            if (each.wavelength() >= wavelengths) {
                throw new InvalidNetworkException("classes", "class " + each.number() + ": expected a wavelength 0 .. " + (wavelengths - 1) + ", got " + each.wavelength());
            }
        });
        if (traffic.isPaced() && probes.isEmpty()) {
            throw new InvalidNetworkException("macroflows", "requires 'probes'");
        }
        if (traffic.isPaced() && ports() > WireConstants.MAX_OUTPUTS) {
            throw new InvalidNetworkException("macroflows", "expected at most " + WireConstants.MAX_OUTPUTS + " optical ports per edge, got " + ports() + " per fibre");
        }
        probes.ifPresent(period -> traffic.share().ifPresent(share -> share.check(period)));
        if (traffic.scheme() != OpsTraffic.Scheme.NONE && framingBytes > MAX_FRAMING_OF_TRAINS) {
            throw new InvalidNetworkException("framing_bytes", "expected at most " + MAX_FRAMING_OF_TRAINS
                    + " with burst assembly (only the first frame has a label), got " + framingBytes);
        }
    }

    /** Returns true if an agent can aim at this part of an output. */
    public static boolean isTarget(double target) {
        return target > 0 && target <= 1;
    }

    /** Wavelengths for data of a fibre. */
    public int wavelengths() {
        return wavelengths;
    }

    /** Ports of a fibre that are in use: those for data and the one for probes, if there is one. */
    public int ports() {
        return wavelengths + (probes.isPresent() ? 1 : 0);
    }

    /** Port of a fibre's wavelength, in the order of {@link #ports}. */
    public int port(int fibre, int wavelength) {
        return WireConstants.PORT_OPTICAL_BASE + (fibre << fibreShift) + wavelength;
    }

    /** Whether switches change a train's wavelength. */
    public boolean conversion() {
        return conversion;
    }

    /** By how many bits a fibre's number is shifted in the numbers of its ports. */
    public int fibreShift() {
        return fibreShift;
    }

    /** What agents reckon with; empty: there are none, and no wavelength for probes. */
    public Optional<OpsProbes> probes() {
        return probes;
    }

    /** Whether outputs have agents: where there are probes, and edges do not share by themselves. */
    public boolean hasAgents() {
        return probes.isPresent() && traffic.share().isEmpty();
    }

    /** Bits a second of a wavelength for data. */
    public long rateBps() {
        return rateBps;
    }

    /** In what switches tell time. */
    public TimestampUnit unit() {
        return unit;
    }

    /** Optical RAM of an output. */
    public long ramBytes() {
        return ramBytes;
    }

    /** Of a train, as links count it. */
    public int longestBytes() {
        return longestBytes;
    }

    /** Of each frame, what links do not count. */
    public int framingBytes() {
        return framingBytes;
    }

    /** Free behind each train, ns. */
    public long guardNs() {
        return guardNs;
    }

    /** How often a train may be deflected. */
    public int deflections() {
        return deflections;
    }

    /** How many switches and edges a train may reach. */
    public int hops() {
        return hops;
    }

    /** What edges make of packets. */
    public OpsTraffic traffic() {
        return traffic;
    }

    /** Part of an output's rate that its agent aims at to begin with. */
    public double target() {
        return target;
    }
}
