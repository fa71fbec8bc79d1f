// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

/** Names and defaults of the component's properties; ONOS's build reads them here. */
final class OsgiPropertyConstants {
    static final String ANSWER_TIMEOUT_MS = "answerTimeoutMs";
    static final int ANSWER_TIMEOUT_MS_DEFAULT = 2000;

    static final String LAST_RETRY_MS = "lastRetryMs";
    static final int LAST_RETRY_MS_DEFAULT = 5000;

    private OsgiPropertyConstants() {
    }
}
