// SPDX-License-Identifier: Apache-2.0
// What the test programs leave empty.
#ifndef COMMON_P4
#define COMMON_P4
#include <core.p4>
#include <v1model.p4>

#define NO_VERIFY(H, M)  control TestVerify(inout H hdr, inout M meta) { apply { } }
#define NO_COMPUTE(H, M) control TestCompute(inout H hdr, inout M meta) { apply { } }
#define NO_EGRESS(H, M)  control TestEgress(inout H hdr, inout M meta, inout standard_metadata_t std) { apply { } }
#define SWITCH V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestCompute(), TestDeparser()) main

#endif
