// SPDX-License-Identifier: Apache-2.0
/** What other applications of ONOS may build on: the controller's state and orders as JSON, and what happens as events. */
package org.slotwise.onos.api;
