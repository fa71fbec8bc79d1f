// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_TIMER_P4
#define SLOTWISE_TIMER_P4
#include "headers.p4"

// Turns an interval tick into its answer: the timer ticks again `next_ns` after this tick.
control SetTimer(inout linecard_t linecard,
                 inout interval_tick_t interval_tick,
                 inout flow_control_t flow_control,
                 in queue_t queue,
                 in time_ns_t next_ns) {
    apply {
        linecard.kind = LineCardKind.FLOW_CONTROL;
        flow_control.setValid();
        flow_control.queue = queue;
        flow_control.op = FlowOp.SET_QUEUE_TIMER;
        if (interval_tick.timer == IntervalTimer.CONTROL) {
            flow_control.op = FlowOp.SET_CONTROL_TIMER;
        }
        flow_control.reserved = 0;
        flow_control.open_ns = 0;
        flow_control.close_ns = 0;
        flow_control.value = next_ns;
        interval_tick.setInvalid();
    }
}

#endif
