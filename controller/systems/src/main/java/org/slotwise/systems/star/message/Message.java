// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.message;

import java.util.Optional;
import java.util.OptionalInt;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.FaultHeader;
import org.slotwise.wire.InvitationHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.RequestEntryHeader;
import org.slotwise.wire.RequestHeader;
import org.slotwise.wire.StampHeader;
import org.slotwise.wire.SyncHeader;
import org.slotwise.wire.WireConstants;

/**
 * Message between an edge and the controller, by its kind. All packets of stars are read here, whatever bytes they have; whether a message
 * fits the network is checked by its receiver. Immutable.
 */
public abstract class Message {
    private final Optional<OpticalHeader> optical;

    private Message(Optional<OpticalHeader> optical) {
        this.optical = optical;
    }

    /**
     * Handler of each kind of message.
     *
     * @param <R> result
     * @param <E> exception for a message that is not accepted
     */
    public interface Visitor<R, E extends Exception> {
        /** Handles a bandwidth request. */
        R request(Request message) throws E;

        /** Handles a beacon of a master, or a commit for one. */
        R beacon(Beacon message) throws E;

        /** Handles an answer to an invitation. */
        R answer(Answer message) throws E;

        /** Handles a measurement of T_d. */
        R sync(Sync message) throws E;

        /** Handles a fault, or the end of one. */
        R fault(Fault message) throws E;

        /** Handles what is none of these. */
        R other(Other message) throws E;
    }

    /** Reads a packet, from Ethernet on. */
    public static Message read(byte[] frame) {
        Optional<EthernetHeader> ethernet = EthernetHeader.decode(frame, 0);
        Optional<OpticalHeader> optical = OpticalHeader.decode(frame, EthernetHeader.SIZE);
        if (ethernet.isEmpty() || optical.isEmpty()) {
            return new Other(optical, Defect.TRUNCATED);
        }
        if (ControlMessage.isCorrupted(frame)) {
            return new Other(optical, Defect.BAD_CHECK);
        }
        if (ethernet.get().etherType() != WireConstants.ETHERTYPE_OPTICAL || optical.get().version() != WireConstants.OPTICAL_VERSION) {
            return new Other(optical, Defect.BAD_VERSION);
        }
        Optional<OpticalKind> kind = OpticalKind.fromCode(optical.get().kind());
        if (kind.isEmpty()) {
            return new Other(optical, Defect.OTHER_KIND);
        }
        switch (kind.get()) {
            case REQUEST:
                return frame.length < Request.SIZE ? new Other(optical, Defect.TRUNCATED) : new Request(optical, frame);
            case COMMIT:
                return new Beacon(optical, frame);
            case INVITATION:
                return new Answer(optical, frame);
            case SYNC:
                return new Sync(optical, frame);
            case FAULT:
                return new Fault(optical, frame);
            default:
                return new Other(optical, Defect.OTHER_KIND);
        }
    }

    /** Has its kind handled. */
    public abstract <R, E extends Exception> R accept(Visitor<R, E> visitor) throws E;

    /** Core of the star that it names; empty without an optical header. */
    public final OptionalInt core() {
        return optical.map(header -> OptionalInt.of(header.core())).orElse(OptionalInt.empty());
    }

    /** Optical header of a message of a known kind. */
    public final OpticalHeader optical() {
        return optical.orElseThrow();
    }

    /** Bandwidth request, of full length. */
    public static final class Request extends Message {
        private static final int SIZE = ControlMessage.PAYLOAD + RequestHeader.SIZE
                + WireConstants.REQUEST_ENTRIES * RequestEntryHeader.SIZE;
        private final byte[] frame;
        private final RequestHeader header;

        private Request(Optional<OpticalHeader> optical, byte[] frame) {
            super(optical);
            this.frame = frame;
            this.header = RequestHeader.decode(frame, ControlMessage.PAYLOAD).orElseThrow();
        }

        /** Header. */
        public RequestHeader header() {
            return header;
        }

        /** Entry of a queue of its block. */
        public RequestEntryHeader entry(int number) {
            int offset = ControlMessage.PAYLOAD + RequestHeader.SIZE + number * RequestEntryHeader.SIZE;
            return RequestEntryHeader.decode(frame, offset).orElseThrow();
        }

        @Override
        public <R, E extends Exception> R accept(Visitor<R, E> visitor) throws E {
            return visitor.request(this);
        }
    }

    /**
     * Message with one header after the check sequence.
     *
     * @param <H> header
     */
    public abstract static class With<H> extends Message {
        private final Optional<H> header;

        private With(Optional<OpticalHeader> optical, Optional<H> header) {
            super(optical);
            this.header = header;
        }

        /** Header; empty if it is truncated. */
        public final Optional<H> header() {
            return header;
        }
    }

    /**
     * Message whose header follows a stamp.
     *
     * @param <H> header
     */
    public abstract static class Stamped<H> extends With<H> {
        /** Offset of the header. */
        static final int HEADER = ControlMessage.PAYLOAD + StampHeader.SIZE;
        private final Optional<StampHeader> stamp;

        private Stamped(Optional<OpticalHeader> optical, byte[] frame, Optional<H> header) {
            super(optical, header);
            this.stamp = StampHeader.decode(frame, ControlMessage.PAYLOAD);
        }

        /** Times of departure and arrival; empty if it is truncated. */
        public final Optional<StampHeader> stamp() {
            return stamp;
        }
    }

    /** Commit beacon from a master to a member, or commit to a master. */
    public static final class Beacon extends With<CommitHeader> {
        private Beacon(Optional<OpticalHeader> optical, byte[] frame) {
            super(optical, CommitHeader.decode(frame, ControlMessage.PAYLOAD));
        }

        @Override
        public <R, E extends Exception> R accept(Visitor<R, E> visitor) throws E {
            return visitor.beacon(this);
        }
    }

    /** Ranging response of an edge to an invitation. */
    public static final class Answer extends Stamped<InvitationHeader> {
        private Answer(Optional<OpticalHeader> optical, byte[] frame) {
            super(optical, frame, InvitationHeader.decode(frame, HEADER));
        }

        @Override
        public <R, E extends Exception> R accept(Visitor<R, E> visitor) throws E {
            return visitor.answer(this);
        }
    }

    /** Measurement of T_d by an edge. */
    public static final class Sync extends Stamped<SyncHeader> {
        private Sync(Optional<OpticalHeader> optical, byte[] frame) {
            super(optical, frame, SyncHeader.decode(frame, HEADER));
        }

        @Override
        public <R, E extends Exception> R accept(Visitor<R, E> visitor) throws E {
            return visitor.sync(this);
        }
    }

    /** Fault of an edge, or shutdown of a master. */
    public static final class Fault extends With<FaultHeader> {
        private Fault(Optional<OpticalHeader> optical, byte[] frame) {
            super(optical, FaultHeader.decode(frame, ControlMessage.PAYLOAD));
        }

        @Override
        public <R, E extends Exception> R accept(Visitor<R, E> visitor) throws E {
            return visitor.fault(this);
        }
    }

    /** Defect of a packet, or another kind. */
    public enum Defect {
        /** Shorter than its headers specify. */
        TRUNCATED,
        /** Changed on its path. */
        BAD_CHECK,
        /** Not an optical frame, or of an unknown version. */
        BAD_VERSION,
        /** Of a kind that edges do not send to controllers. */
        OTHER_KIND
    }

    /** Packet without a message of these kinds. */
    public static final class Other extends Message {
        private final Defect defect;

        private Other(Optional<OpticalHeader> optical, Defect defect) {
            super(optical);
            this.defect = defect;
        }

        /** Reason. */
        public Defect defect() {
            return defect;
        }

        @Override
        public <R, E extends Exception> R accept(Visitor<R, E> visitor) throws E {
            return visitor.other(this);
        }
    }
}
