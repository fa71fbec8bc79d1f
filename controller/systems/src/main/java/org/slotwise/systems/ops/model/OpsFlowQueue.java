// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import java.util.Objects;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.Ranges;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.wire.WireConstants;

/** A flow that has a queue of its own at an edge, and so trains of its own. Immutable; {@link OpsNetwork} checks that it fits the rest. */
public final class OpsFlowQueue {
    /** Largest number of a queue. */
    public static final int MAX_QUEUE = WireConstants.SIGNALING_QUEUE - 1;
    /** Largest IP protocol. */
    public static final int MAX_PROTOCOL = 255;
    /** Largest port of TCP or UDP. */
    public static final int MAX_PORT = 65_535;

    private final Ipv4Address src;
    private final Ipv4Address dst;
    private final int protocol;
    private final int srcPort;
    private final int dstPort;
    private final int queue;
    private final int dstEdge;
    private final int trafficClass;

    /** Takes the flow's five parts, its queue, and the number of the edge and class that its trains are for. */
    public OpsFlowQueue(Ipv4Address src, Ipv4Address dst, int protocol, int srcPort, int dstPort, int queue, int dstEdge, int trafficClass) {
        this.src = Objects.requireNonNull(src);
        this.dst = Objects.requireNonNull(dst);
        this.protocol = (int) Ranges.check("protocol", protocol, 0, MAX_PROTOCOL);
        this.srcPort = (int) Ranges.check("src_port", srcPort, 0, MAX_PORT);
        this.dstPort = (int) Ranges.check("dst_port", dstPort, 0, MAX_PORT);
        this.queue = (int) Ranges.check("queue", queue, 0, MAX_QUEUE);
        this.dstEdge = dstEdge;
        this.trafficClass = (int) Ranges.check("class", trafficClass, 0, TrafficClass.MAX_CLASS);
    }

    /** Its source. */
    public Ipv4Address src() {
        return src;
    }

    /** Its destination. */
    public Ipv4Address dst() {
        return dst;
    }

    /** Its IP protocol. */
    public int protocol() {
        return protocol;
    }

    /** The source's port of TCP or UDP. */
    public int srcPort() {
        return srcPort;
    }

    /** The destination's. */
    public int dstPort() {
        return dstPort;
    }

    /** Its queue. */
    public int queue() {
        return queue;
    }

    /** Number of the edge that it goes to. */
    public int dstEdge() {
        return dstEdge;
    }

    /** Of its trains. */
    public int trafficClass() {
        return trafficClass;
    }

    /** The flow, for comparison. */
    String flow() {
        return src + ":" + srcPort + " to " + dst + ":" + dstPort + ", protocol " + protocol;
    }
}
