// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.Objects;
import java.util.Optional;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.flow.DefaultFlowRule;
import org.onosproject.net.flow.DefaultTrafficTreatment;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.instructions.Instruction;
import org.onosproject.net.flow.instructions.Instructions.MetadataInstruction;
import org.onosproject.net.flow.instructions.PiInstruction;

/**
 * Who ordered a flow rule and what for. It goes with the rule, as its metadata, to the driver of the switch at whichever node is the
 * switch's master by then. ONOS hands the driver a removed rule as its store had it, so what is to be deleted is a rule that is added.
 */
public final class Order {
    /** What is to be done with the switch's entry. */
    public enum Kind {
        /** It is to be there with the rule's action. */
        WRITE,
        /** It is not to be there; the rule is removed from ONOS's store afterwards. */
        DELETE,
        /** It was read from the switch a moment ago. */
        KNOWN
    }

    private final long mandate;
    private final Kind kind;

    private Order(long mandate, Kind kind) {
        this.mandate = mandate;
        this.kind = kind;
    }

    /** Term and node of the leader that ordered it, as {@link Fence#mandate} has it. */
    public long mandate() {
        return mandate;
    }

    /** What for. */
    public Kind kind() {
        return kind;
    }

    /** What is ordered of a rule; empty for one that is not of this app. */
    public static Optional<Order> of(FlowRule rule) {
        MetadataInstruction metadata = rule.treatment().writeMetadata();
        Kind[] kinds = Kind.values();
        return metadata == null || metadata.metadataMask() < 0 || metadata.metadataMask() >= kinds.length ? Optional.empty()
                : Optional.of(new Order(metadata.metadata(), kinds[(int) metadata.metadataMask()]));
    }

    /** The same rule, ordered under a mandate. */
    // The place in Kind is what is read back above.
    @SuppressWarnings("EnumOrdinal")
    public static FlowRule order(FlowRule rule, ApplicationId app, long mandate, Kind kind) {
        return withTreatment(rule, app, treatment(rule).writeMetadata(mandate, kind.ordinal()));
    }

    /** The rule without the order, as ONOS's translator takes it. */
    public static FlowRule plain(FlowRule rule, ApplicationId app) {
        return withTreatment(rule, app, treatment(rule));
    }

    private static DefaultTrafficTreatment.Builder treatment(FlowRule rule) {
        DefaultTrafficTreatment.Builder treatment = (DefaultTrafficTreatment.Builder) DefaultTrafficTreatment.builder();
        rule.treatment().allInstructions().stream()
                .filter(instruction -> instruction.type() == Instruction.Type.PROTOCOL_INDEPENDENT)
                .forEach(instruction -> treatment.piTableAction(((PiInstruction) instruction).action()));
        return treatment;
    }

    private static FlowRule withTreatment(FlowRule rule, ApplicationId app, DefaultTrafficTreatment.Builder treatment) {
        return DefaultFlowRule.builder().forDevice(rule.deviceId()).forTable(rule.table()).fromApp(app).makePermanent()
                .withPriority(rule.priority()).withSelector(rule.selector()).withTreatment(treatment.build()).build();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Order && ((Order) other).mandate == mandate && ((Order) other).kind == kind;
    }

    @Override
    public int hashCode() {
        return Objects.hash(mandate, kind);
    }

    @Override
    public String toString() {
        return kind + " under mandate " + Long.toHexString(mandate);
    }
}
