# SPDX-License-Identifier: GPL-2.0-only
# Adaptive partitioning (Stevanato et al., ISORC 2021) on two CPUs, for the shell of the guest, which sources
# this file after examples.sh.

# place MODE FALLBACK: 0 global, 1 apEDF, 2 a2pEDF; 1: a task that fits nowhere goes where global EDF would
# send it.
place() {
    echo "$1" >$K/sched_dl_placement
    echo "$2" >$K/sched_dl_placement_fallback
}
# Section III.B: three tasks of 0.6, of which two fit on no CPU. A unit is 2 ms.
three() { on 1-2 -u 2000 -d "${1:-1000}" a:6:10:-:per:0 b:6:10:-:per:0 c:6:10:-:per:0; }
# Four tasks with U = 1.75 that first fit can partition.
four() { on 1-2 -u 1000 -d "${1:-3000}" a:9:20:-:per:0 b:12:30:-:per:3 c:18:40:-:per:5 d:20:50:-:per:7; }
# The same, without ever blocking.
four_hogs() { on 1-2 -u 1000 -d "${1:-3000}" a:9:20:-:hog:0:1 b:12:30:-:hog:3:1 c:18:40:-:hog:5:1 d:20:50:-:hog:7:1; }
# A set of U <= M on which apEDF never comes to rest, although a partition exists: c is late by 11 ms in
# every other job. One per cent more budget than demand, and a limit of 1.
recurring() {
    on 1-2 -u 1000 -d "${1:-3000}" -p 990 a:84.8:200:-:per:170 b:88.8:100:-:per:78 c:56.5:100:-:per:11 d:20.2:200:-:per:108
}
