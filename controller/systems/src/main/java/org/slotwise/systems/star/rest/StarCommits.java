// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.slotwise.rest.system.CommitProtocol;
import org.slotwise.control.Command;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.RequestHeader;
import org.slotwise.wire.WireConstants;

/** Commits of schedules to the masters of stars, by core, and the requests that report which one is active. */
final class StarCommits implements CommitProtocol {
    private final Map<Integer, Edge> masters = new LinkedHashMap<>();

    /** Takes a network of one star or several. */
    StarCommits(Network network) {
        network.stars().forEach(star -> masters.put(star.core().id().value(), star.master()));
    }

    private static Optional<OpticalHeader> optical(byte[] frame, OpticalKind kind) {
        return OpticalHeader.decode(frame, EthernetHeader.SIZE).filter(optical -> optical.kind() == kind.code());
    }

    @Override
    public Optional<Version> committed(byte[] frame) {
        return optical(frame, OpticalKind.COMMIT).flatMap(optical -> CommitHeader.decode(frame, ControlMessage.PAYLOAD)
                .map(commit -> new Version(optical.core(), commit.nextVersion())));
    }

    @Override
    public Optional<Version> active(byte[] frame) {
        Optional<OpticalHeader> optical = optical(frame, OpticalKind.REQUEST).filter(request -> masters.containsKey(request.core()));
        Optional<RequestHeader> request = RequestHeader.decode(frame, ControlMessage.PAYLOAD);
        if (optical.isEmpty() || request.isEmpty() || ControlMessage.isCorrupted(frame)) {
            return Optional.empty();
        }
        return Optional.of(new Version(optical.get().core(), request.get().activeVersion()));
    }

    @Override
    public long difference(long version, long other) {
        return FrameNumber.difference(version, other);
    }

    @Override
    public Set<Integer> keys(DeviceId device) {
        return masters.entrySet().stream().filter(entry -> entry.getValue().device().equals(device)).map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    @Override
    public Command.PacketOut repeat(Version committed, byte[] report) {
        Edge master = masters.get(committed.key());
        int id = master.id().value();
        long frame = RequestHeader.decode(report, ControlMessage.PAYLOAD).orElseThrow().frame();
        CommitHeader commit = new CommitHeader(0, 0, committed.number(), FrameNumber.plus(frame, 1));
        return new Command.PacketOut(master.device(), WireConstants.PORT_SELF, ControlMessage.encode(
                OpticalKind.COMMIT, committed.key(), id, id, master.mac().value(), 0, commit.encode()));
    }
}
