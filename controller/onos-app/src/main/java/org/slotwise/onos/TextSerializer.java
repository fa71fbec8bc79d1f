// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.nio.charset.StandardCharsets;
import org.onosproject.store.service.Serializer;

/** For maps whose keys and values are text. */
final class TextSerializer implements Serializer {
    @Override
    public <T> byte[] encode(T text) {
        return ((String) text).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    public <T> T decode(byte[] bytes) {
        return (T) new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public <T> T copy(T text) {
        return text;
    }
}
