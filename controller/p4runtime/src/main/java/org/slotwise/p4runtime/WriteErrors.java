// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.grpc.protobuf.StatusProto;
import java.util.List;
import org.slotwise.control.tables.Update;
import p4.v1.P4RuntimeOuterClass;

/** Makes one sentence of a failed write: the first update that the switch refused, and why. */
final class WriteErrors {
    private WriteErrors() {
    }

    static String describe(Throwable error, List<Update> updates) {
        Status status = StatusProto.fromThrowable(error);
        if (status == null) {
            return String.valueOf(error.getMessage());
        }
        int refused = 0;
        String first = "";
        for (int i = 0; i < status.getDetailsCount() && i < updates.size(); i++) {
            P4RuntimeOuterClass.Error detail = unpack(status.getDetails(i));
            if (detail.getCanonicalCode() != Code.OK_VALUE) {
                if (refused++ == 0) {
                    first = "; " + updates.get(i) + ": " + Code.forNumber(detail.getCanonicalCode())
                            + " " + detail.getMessage();
                }
            }
        }
        return Code.forNumber(status.getCode()) + " " + status.getMessage()
                + (refused == 0 ? "" : " (" + refused + " of " + updates.size() + " rejected" + first + ")");
    }

    private static P4RuntimeOuterClass.Error unpack(Any detail) {
        try {
            return detail.unpack(P4RuntimeOuterClass.Error.class);
        } catch (InvalidProtocolBufferException e) {
            return P4RuntimeOuterClass.Error.newBuilder()
                    .setCanonicalCode(Code.UNKNOWN_VALUE).setMessage("unreadable details").build();
        }
    }
}
