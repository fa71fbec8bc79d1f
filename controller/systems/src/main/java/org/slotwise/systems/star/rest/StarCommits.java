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
import org.slotwise.systems.star.app.CommitMessage;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Network;

/** Commits of schedules to the masters of stars, by core, and the requests that report which one is active. */
final class StarCommits implements CommitProtocol {
    private final Map<Integer, Network> stars = new LinkedHashMap<>();

    /** Takes a network of one star or several. */
    StarCommits(Network network) {
        network.stars().forEach(star -> stars.put(star.core().id().value(), star));
    }

    @Override
    public Optional<Version> committed(byte[] frame) {
        Message message = Message.read(frame);
        return message instanceof Message.Beacon ? ((Message.Beacon) message).header()
                .map(commit -> new Version(message.optical().core(), commit.nextVersion())) : Optional.empty();
    }

    @Override
    public Optional<Version> active(byte[] frame) {
        return request(frame).filter(request -> stars.containsKey(request.optical().core()))
                .map(request -> new Version(request.optical().core(), request.header().activeVersion()));
    }

    private static Optional<Message.Request> request(byte[] frame) {
        Message message = Message.read(frame);
        return message instanceof Message.Request ? Optional.of((Message.Request) message) : Optional.empty();
    }

    @Override
    public long difference(long version, long other) {
        return FrameNumber.difference(version, other);
    }

    @Override
    public Set<Integer> keys(DeviceId device) {
        return stars.entrySet().stream().filter(entry -> entry.getValue().master().device().equals(device)).map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    @Override
    public Command.PacketOut repeat(Version committed, byte[] report) {
        Network star = stars.get(committed.key());
        long frame = request(report).orElseThrow().header().frame();
        return CommitMessage.to(star.core(), star.master(), org.slotwise.systems.star.model.Version.of(committed.number()),
                FrameNumber.plus(frame, 1));
    }
}
