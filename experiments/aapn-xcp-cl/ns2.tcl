# SPDX-License-Identifier: Apache-2.0
# The cases of the thesis in ns-2 itself, with the delays of case1.yaml: a second opinion on what XCP-CL needs.
#
#   ns ns2.tcl RATE LOW LINK XCP BUFFER SEED OUT        (case 1: RATE 45, LOW 40)
#
# LINK    1: the edge's output really serves at LOW Mb/s from 200 s to 400 s; 0: it stays at RATE
# XCP     1: its XCP is told LOW then (XCP-CL); 0: it is told nothing (plain XCP)
# BUFFER  packets that wait at the edge's output, beside the one being sent
# OUT     a line each 0.1 s: time, packets sent, arrived and dropped by the edge's output so far, packets waiting there
#         and at Rs, window of flow 1
#
# ns-2.35 (Debian package ns2). Its drop-tail queue holds one packet less than its limit.

lassign $argv rate_mbps low_mbps link_changes xcp_knows buffer seed out
if {[llength $argv] != 7} {
    puts stderr "usage: ns ns2.tcl RATE LOW LINK XCP BUFFER SEED OUT"
    exit 2
}
set flows 100
# One way and back in ms, by group of 20 flows and by interval of 200 s; 2 ms of each are between the routers.
set forward_ms {{110 170 140} {130 190 210} {150 250 110} {130 290 150} {110 150 130}}
set back_ms {170 270 160}
# rate * 2 * 150 ms
set large [expr {int($rate_mbps * 1e6 * 0.3 / 8000)}]

ns-random $seed
remove-all-packet-headers
add-packet-header Flags IP TCP XCP
Queue/XCP set tcp_xcp_on_ 0
Agent/TCP set window_ 100000
# 1010 bytes a packet, with 40 of headers and 10 of the time stamp option.
Agent/TCP set packetSize_ 960
set ns [new Simulator]
set rs [$ns node]
set ri [$ns node]
set rj [$ns node]

proc router_link {from to buffer} {
    global ns rate_mbps
    $ns simplex-link $from $to ${rate_mbps}Mb 1ms XCP
    set queue [[$ns link $from $to] queue]
    $queue queue-limit [expr {$buffer + 1}]
    $queue set-link-capacity [expr {$rate_mbps * 1e6}]
    return $queue
}

proc host_link {from to} {
    global ns rate_mbps large
    $ns simplex-link $from $to ${rate_mbps}Mb 1ms DropTail
    $ns queue-limit $from $to $large
}

proc set_delay_ms {from to delay_ms} {
    global ns
    [[$ns link $from $to] link] set delay_ [expr {$delay_ms / 1e3}]
}

# Delays of an interval, half of what is not between the routers at either end.
proc set_delays {interval} {
    global flows forward_ms back_ms source destination rs rj
    set back [expr {([lindex $back_ms $interval] - 2) / 2.0}]
    for {set i 0} {$i < $flows} {incr i} {
        set forward [expr {([lindex $forward_ms [expr {$i / 20}] $interval] - 2) / 2.0}]
        set_delay_ms $source($i) $rs $forward
        set_delay_ms $rj $destination($i) $forward
        set_delay_ms $destination($i) $rj $back
        set_delay_ms $rs $source($i) $back
    }
}

proc set_capacity {mbps} {
    global ns ri rj edge link_changes xcp_knows
    if {$link_changes} {
        [[$ns link $ri $rj] link] set bandwidth_ [expr {$mbps * 1e6}]
    }
    if {$xcp_knows} {
        $edge set-link-capacity [expr {$mbps * 1e6}]
    }
}

router_link $rs $ri $large
set edge [router_link $ri $rj $buffer]
router_link $rj $ri $large
router_link $ri $rs $large
set at_ri [$ns monitor-queue $ri $rj ""]
set at_rs [$ns monitor-queue $rs $ri ""]
for {set i 0} {$i < $flows} {incr i} {
    set source($i) [$ns node]
    set destination($i) [$ns node]
    host_link $source($i) $rs
    host_link $rs $source($i)
    host_link $rj $destination($i)
    host_link $destination($i) $rj
    set sender($i) [new Agent/TCP/Reno/XCP]
    set receiver [new Agent/TCPSink/XCPSink]
    $ns attach-agent $source($i) $sender($i)
    $ns attach-agent $destination($i) $receiver
    $ns connect $sender($i) $receiver
    set transfer [new Application/FTP]
    $transfer attach-agent $sender($i)
    # One after the other within 1 s.
    $ns at [expr {($i % 20 + [ns-random] / 2147483647.0) / 20.0}] "$transfer start"
}
set_delays 0
$ns at 200 "set_delays 1; set_capacity $low_mbps"
$ns at 400 "set_delays 2; set_capacity $rate_mbps"

set log [open $out w]
proc sample {} {
    global ns at_ri at_rs log sender
    puts $log [join [list [format %.1f [$ns now]] [$at_ri set pdepartures_] [$at_ri set parrivals_] \
        [$at_ri set pdrops_] [$at_ri set pkts_] [$at_rs set pkts_] [$sender(0) set cwnd_]]]
    $ns at [expr {[$ns now] + 0.1}] sample
}
$ns at 0.1 sample
$ns at 600 "close $log; exit 0"
$ns run
