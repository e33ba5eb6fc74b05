# SPDX-License-Identifier: GPL-2.0-only
# The examples of Tang, Anderson and Abeni (RTNS 2021) as functions, for the shell of the guest, which
# sources this file. A unit of the paper is 10 ms. The guest has 4 CPUs (5 for Example 3): CPU 0 is for
# the controller, and the CPUs of an example, 1 and up, are a root domain of their own.

K=/proc/sys/kernel
CG=/sys/fs/cgroup
SCHED=/sys/kernel/debug/sched
# The tool of the guest, which has no links for all of them.
alias awk='busybox awk' tr='busybox tr' sed='busybox sed' head='busybox head' 2>/dev/null

# Once after the boot: exact budgets, no fair servers, which would count in admission, and a partition.
setup() {
    echo HRTICK_DL >$SCHED/features
    for cpu in $SCHED/fair_server/cpu*; do echo 0 >$cpu/runtime; done
    echo +cpuset >$CG/cgroup.subtree_control
    mkdir $CG/rt
    echo 1-3 >$CG/rt/cpuset.cpus
    echo root >$CG/rt/cpuset.cpus.partition
}

# rules BITS LIMIT: writes the switch, if the kernel has it, and the admission limit (-1: no admission).
# Threads that have exited count until their 0-lag time: wait until that is over.
rules() {
    sleep 3
    if [ -f $K/sched_dl_semi_partitioned ]; then
        echo "$1" >$K/sched_dl_semi_partitioned
    elif [ "$1" != 0 ]; then
        echo "this kernel has no semi-partitioned scheduling"
        return 1
    fi
    [ "$(cat $K/sched_rt_runtime_us)" = "$2" ] || echo "$2" >$K/sched_rt_runtime_us
}
# The stock rules; the rules of the paper; the same without timer.
stock() { rules 0 -1; }
paper() { rules 7 950000; }
light() { rules 15 950000; }

# on FIRST-LAST ARGUMENT..: dl_threads in a domain of these CPUs.
on() {
    sleep 2
    [ "$(cat $CG/rt/cpuset.cpus)" = "$1" ] || echo "$1" >$CG/rt/cpuset.cpus
    cpus=$1
    shift
    dl_threads -g $CG/rt -c "$cpus" "$@"
}

# Figure 5: two hogs with C = T = 2 on three CPUs, each of which has a tied thread.
example5() {
    on 1-3 -d "${1:-40}" tau2:2:2:-:hog:0:1 tau4:2:2:-:hog:0:3 \
        tau1:2:6:1:per:0 tau3:1:6:2:per:0 tau5:2:6:3:per:0
}
# The same, sporadic.
example5_sporadic() {
    on 1-3 -d "${1:-500}" tau2:2:2:-:hog:0:1 tau4:2:2:-:hog:0:3 \
        tau1:2:6:1:per:0:6 tau3:1:6:2:per:0:6 tau5:2:6:3:per:0:6
}
# The same with releases chosen against the hogs. example5_adversary UNITS BUDGET: of the hogs, 2 by default.
example5_adversary() {
    on 1-3 -d "${1:-500}" -m adversary "tau2:${2:-2}:2:-:hog:0:1" "tau4:${2:-2}:2:-:hog:0:3" \
        tau1:2:6:1:ctl tau3:1:6:2:ctl tau5:2:6:3:ctl
}
# The two migrating threads alone: what they fall behind by is the work of the kernel itself.
example5_alone() { on 1-3 -d "${1:-500}" tau2:2:2:-:hog:0:1 tau4:2:2:-:hog:0:3; }
# A migrating thread is pushed to the CPU of a thread with an earlier deadline. Offset: all enter first.
example6() { on 1-2 -d 30 tau1:10:70:1:per:7 tau2:10:50:2:per:7 tau3:5:10:-:hog:0:1; }
# A thread asks for the CPU where the migrating thread is.
example7() { on 1-2 -d 40 -m move=2 tau1:1:2:1:hog:0.02 tau2:1:1:-:hog:0:1; }
# A migrating thread that never blocks bypasses the throttle.
example8() { on 1-2 -d 20 tau1:2:12:1:per:1 tau2:2:2:-:hog:0:1 tau3:6:40:2:per:1; }
# Example 3, on 5 CPUs: a thread moves to another root domain in the middle of its job, and its deadline with
# it. Two domains, CPU 1 and CPUs 2 to 4; three processes with one start. A unit is 1 ms. Jobs execute a
# little less than their budgets, or they would be throttled at their ends for what the kernel executes.
example3() {
    sleep 2
    [ -d $CG/one ] || mkdir $CG/one
    echo 2-4 >$CG/rt/cpuset.cpus
    echo 1 >$CG/one/cpuset.cpus
    echo root >$CG/one/cpuset.cpus.partition
    at=$(busybox awk '{ print int($1 * 1000) + 500 }' /proc/uptime)
    dl_threads -g $CG/one -c 1-1 -u 1000 -d 200 -p 900 -s $at tau5:2:10:1:per:0 >/tmp/tau5 &
    dl_threads -g $CG/rt -c 2-4 -u 1000 -d 100 -p 990 -s $at -m regroup=92:$CG/one tau4:70:100:-:per:1 >/tmp/tau4 &
    dl_threads -g $CG/rt -c 2-4 -u 1000 -d 100 -p 990 -s $at tau1:70:100:-:per:0 tau2:70:100:-:per:0 tau3:70:100:-:per:0
    wait
    cat /tmp/tau4 /tmp/tau5
    sleep 2
    echo member >$CG/one/cpuset.cpus.partition
    echo >$CG/one/cpuset.cpus
}
# Example 4: a thread that sleeps for 1 after each job gets 63 every 127 instead of every 100.
example4() {
    on 1-2 -u 1000 -d 2540 -p 1000 tau1:63:100:-:per:0:0:127 tau2:63:100:-:per:0:0:127 \
        tau3:63:100:-:self:0:1
}

# forced COMMAND..: runs it, and prints how often late threads were throttled all the same, and for how long
# they were away until they ran again, by the tracepoint of the patches.
forced() {
    trace=/sys/kernel/tracing
    echo >$trace/trace
    for event in sched_dl_forced sched_switch; do echo 1 >$trace/events/sched/$event/enable; done
    "$@"
    for event in sched_dl_forced sched_switch; do echo 0 >$trace/events/sched/$event/enable; done
    busybox awk '
        { for (i = 2; i <= NF; i++) {
            if ($i == "sched_dl_forced:" && $(i + 3) == "step=0") {
                pid = $(i + 1); sub("pid=", "", pid); begin[pid] = $(i - 1) + 0
            }
            if ($i == "sched_switch:") at = $(i - 1) + 0
            if ($i ~ /^next_pid=/) {
                pid = $i; sub("next_pid=", "", pid)
                if (pid in begin) { count++; away += at - begin[pid]; delete begin[pid] }
            }
        } }
        END { printf "forced count=%d away_us=%d\n", count, away * 1000000 }' $trace/trace
}

# The sums of bandwidth by which the kernel admits, in 2^-20 of a CPU: total_bw of each CPU's root domain,
# and tied_bw of each CPU if the kernel has it.
sums() {
    for sum in total_bw tied_bw; do
        busybox awk -v "sum=$sum" '$1 ~ sum "$" { printf "%s%s", n++ ? "," : sum "=", $NF } END { if (n) printf "\n" }' $SCHED/debug
    done
}
