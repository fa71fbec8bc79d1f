// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.shared.model;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;

/** A class of traffic: what has it, by which wavelength its trains leave an edge, and what part of an output it gets. Immutable and valid. */
public final class TrafficClass {
    /** Largest number of a class. */
    public static final int MAX_CLASS = 7;
    /** Most wavelengths of a fibre. */
    public static final int MAX_WAVELENGTHS = 8;
    /** Largest differentiated-services code point. */
    public static final int MAX_DSCP = 63;
    /** Smallest weight. */
    public static final double MIN_WEIGHT = 0.001;
    /** Largest weight. */
    public static final double MAX_WEIGHT = 1000;
    /** Of a class that says nothing else. */
    public static final double PLAIN_WEIGHT = 1;

    /** The table that classifies what hosts send. */
    public static final String TABLE = "traffic_class";
    private static final int DSCP_BITS = (1 << 6) - 1;

    private final int number;
    private final OptionalInt dscp;
    private final boolean acknowledgements;
    private final int wavelength;
    private final double weight;

    /**
     * Throws {@link InvalidNetworkException} with the place and the reason if a number is out of its range, or if anything but class 0 has
     * nothing that is of it.
     *
     * @param number 0: of what no other class has
     * @param dscp packets with this code point are of it
     * @param acknowledgements TCP without payload is of it
     * @param wavelength for data, by which it leaves an edge
     * @param weight its part of an output by those of the others
     */
    public TrafficClass(int number, OptionalInt dscp, boolean acknowledgements, int wavelength, double weight) {
        this.number = (int) Ranges.check("class", number, 0, MAX_CLASS);
        dscp.ifPresent(code -> Ranges.check("match.dscp", code, 0, MAX_DSCP));
        this.dscp = dscp;
        this.acknowledgements = acknowledgements;
        this.wavelength = (int) Ranges.check("wavelength", wavelength, 0, MAX_WAVELENGTHS - 1L);
        this.weight = weight;
        if (!isWeight(weight)) {
            throw new InvalidNetworkException("weight", "expected " + MIN_WEIGHT + " .. " + MAX_WEIGHT + ", got " + weight);
        }
        if (dscp.isPresent() && acknowledgements) {
            throw new InvalidNetworkException("match", "expected either 'dscp' or 'acknowledgements', got both");
        }
        if (number == 0 && (dscp.isPresent() || acknowledgements)) {
            throw new InvalidNetworkException("match", "not allowed for class 0, the default class");
        }
        if (number != 0 && dscp.isEmpty() && !acknowledgements) {
            throw new InvalidNetworkException("match", "missing; expected 'dscp' or 'acknowledgements' for a class above 0");
        }
    }

    /** What classifies packets of hosts: of several that match, the first one has the highest priority. */
    public static List<TableEntry> entries(List<TrafficClass> ordered) {
        List<TableEntry> entries = new ArrayList<>();
        int priority = ordered.size();
        for (TrafficClass each : ordered) {
            if (each.number() != 0) {
                Match match = each.isOfAcknowledgements() ? Match.ternary("acknowledgement", 1, 1)
                        : Match.ternary("dscp", each.dscp().orElseThrow(), DSCP_BITS);
                entries.add(TableEntry.in(TABLE).match(match).priority(priority).action("set_class").param("traffic_class", each.number()).build());
            }
            priority--;
        }
        return entries;
    }

    /** Whether a class can have such a weight. */
    public static boolean isWeight(double weight) {
        return weight >= MIN_WEIGHT && weight <= MAX_WEIGHT;
    }

    /** By which labels and tables name it. */
    public int number() {
        return number;
    }

    /** The code point of its packets; empty: it has another match, or is class 0. */
    public OptionalInt dscp() {
        return dscp;
    }

    /** Whether TCP without payload is of it. */
    public boolean isOfAcknowledgements() {
        return acknowledgements;
    }

    /** Wavelength for data. */
    public int wavelength() {
        return wavelength;
    }

    /** Its part of an output by those of the others, to begin with. */
    public double weight() {
        return weight;
    }
}
