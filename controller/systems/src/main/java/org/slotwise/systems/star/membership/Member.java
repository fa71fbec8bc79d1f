// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.membership;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.wire.FaultCode;

/** What is known of one edge's membership. Immutable. */
public final class Member {
    private final EdgeId edge;
    private final MemberState state;
    private final long session;
    private final long invitations;
    private final long measurements;
    private final long phaseNs;
    private final long errorNs;
    private final long largestErrorNs;
    private final Map<FaultCode, Long> faultsSinceNs;

    Member(EdgeId edge, MemberState state, long session, long invitations, long measurements, long phaseNs,
            long errorNs, long largestErrorNs, Map<FaultCode, Long> faultsSinceNs) {
        this.edge = Objects.requireNonNull(edge);
        this.state = Objects.requireNonNull(state);
        this.session = session;
        this.invitations = invitations;
        this.measurements = measurements;
        this.phaseNs = phaseNs;
        this.errorNs = errorNs;
        this.largestErrorNs = largestErrorNs;
        Map<FaultCode, Long> faults = new EnumMap<>(FaultCode.class);
        faults.putAll(faultsSinceNs);
        this.faultsSinceNs = Collections.unmodifiableMap(faults);
    }

    /** The edge. */
    public EdgeId edge() {
        return edge;
    }

    /** How far it has come. */
    public MemberState state() {
        return state;
    }

    /** Its session, or the nonce of its invitation; 0 for none. */
    public long session() {
        return session;
    }

    /** Invitations sent to it so far. */
    public long invitations() {
        return invitations;
    }

    /** Measurements of T_d in this session. */
    public long measurements() {
        return measurements;
    }

    /** T_d as last measured, ns: clock difference and propagation delay. */
    public long phaseNs() {
        return phaseNs;
    }

    /** T_d last measured less the one that the edge used, ns: how late its light was. */
    public long errorNs() {
        return errorNs;
    }

    /** Largest magnitude of that since the edge has learnt how its clock runs, ns. */
    public long largestErrorNs() {
        return largestErrorNs;
    }

    /** Faults that are not over, and since when, controller's time. */
    public Map<FaultCode, Long> faultsSinceNs() {
        return faultsSinceNs;
    }
}
