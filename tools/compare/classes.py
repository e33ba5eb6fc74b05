"""Compares what a real-time program gets from the fair class, `chrt` and `layland exec`, beside noise on every CPU.

    sudo python3 tools/compare classes [--rounds 3] [--seconds 15] [--class 'exec p-edf'] ..

Needs root, rt-app, cyclictest (rt-tests), stress-ng and chrt; what is missing is named. It prints a table in Markdown for
each of the two programs. Classes take turns, so that what disturbs the machine for a while meets all of them; a figure
is that of all wake-ups of all rounds.

* rt-app: one thread that works for 0.5 ms in every 5 ms. Its log has the latency of each wake-up and whether the
  job was done in its period. The classes that `chrt` gives are set by rt-app itself, as its file says.
* cyclictest: a thread that wakes up every 5 ms. It cannot start as a SCHED_DEADLINE thread, so that each class is given to
  it while it runs, and the noise begins after that.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PERIOD_US, WORK_US, BUDGET_US = 5000, 500, 2500
FIFO = 80
CLASSES = ["fair class", f"SCHED_FIFO {FIFO} (chrt -f)", "SCHED_DEADLINE (chrt -d)", "exec dl", "exec p-edf", "exec p-dm"]


class Failed(Exception):
    """A program that does not do what is measured."""


def quantile(ascending, share):
    """The value below which this share of all is."""
    return ascending[min(len(ascending) - 1, int(len(ascending) * share))]


def noise(seconds):
    """Ordinary threads that keep every CPU busy."""
    command = ["stress-ng", "--cpu", "0", "--timeout", f"{seconds + 60}"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def quiet(child):
    child.send_signal(signal.SIGINT)
    child.wait()


def policy_of(name):
    """The policy of `layland exec` that a class is, if it is one."""
    return name.split()[1] if name.startswith("exec ") else None


def with_rt_app(layland, name, seconds):
    """Latencies of the wake-ups of rt-app in microseconds, and how many jobs were late."""
    thread = {"loop": -1, "run": WORK_US, "timer": {"ref": "tick", "period": PERIOD_US, "mode": "absolute"}}
    if "chrt -f" in name:
        thread |= {"policy": "SCHED_FIFO", "priority": FIFO}
    elif "chrt -d" in name:
        times = {"dl-runtime": BUDGET_US, "dl-period": PERIOD_US, "dl-deadline": PERIOD_US}
        thread |= {"policy": "SCHED_DEADLINE"} | times
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.json"
        options = {"duration": seconds, "calibration": "CPU0", "default_policy": "SCHED_OTHER"}
        options |= {"logdir": folder, "log_basename": "log"}
        file.write_text(json.dumps({"tasks": {"tick": thread}, "global": options}))
        command = ["rt-app", str(file)]
        if policy := policy_of(name):
            reserve = ["--dl", f"{BUDGET_US}us/{PERIOD_US}us", "--thread", "tick.*", "-p", policy, "-q"]
            command = [layland, "exec", *reserve, "--", *command]
        # Calibrated on an idle machine, or the work would be another one.
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        beside = noise(seconds)
        _, errors = child.communicate()
        quiet(beside)
        logs = list(Path(folder).glob("log-tick-*.log"))
        if child.returncode != 0 or not logs:
            raise Failed(f"rt-app under {name}: {errors.strip()}")
        rows = [line.split() for line in logs[0].read_text().splitlines() if not line.startswith("#")]
        rows = [row for row in rows if len(row) >= 11]
        # Before the noise, all are fast.
        rows = rows[int(1.5e6 / PERIOD_US):]
        return [int(row[10]) for row in rows], sum(int(row[7]) < 0 for row in rows)


def with_cyclictest(layland, name, seconds):
    """Latencies of the wake-ups of cyclictest in microseconds."""
    command = ["cyclictest", "-q", "-h", "100000", "-D", str(seconds), "-i", str(PERIOD_US), "--policy", "other"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    follower, beside = None, None
    try:
        time.sleep(0.5)
        threads = sorted(int(tid) for tid in os.listdir(f"/proc/{child.pid}/task"))
        if len(threads) != 2:
            raise Failed("cyclictest has not started its thread")
        measured = str(threads[1])
        os.sched_setaffinity(threads[1], range(os.cpu_count()))
        if policy := policy_of(name):
            # Both of its threads get a budget, and have to fit beside each other.
            budget = f"{BUDGET_US // 2}us/{PERIOD_US}us"
            reserve = ["--dl", budget, "--thread", "cyclictest", "-p", policy, "-q"]
            follower = subprocess.Popen([layland, "exec", *reserve, "--pid", str(child.pid)])
        elif "chrt -f" in name:
            subprocess.run(["chrt", "-f", "-p", str(FIFO), measured], check=True)
        elif "chrt -d" in name:
            budget = ["-T", f"{BUDGET_US}000", "-P", f"{PERIOD_US}000", "-D", f"{PERIOD_US}000"]
            subprocess.run(["chrt", "-d", *budget, "-p", "0", measured], check=True)
        time.sleep(0.5)
        now = subprocess.run(["chrt", "-p", measured], capture_output=True, text=True).stdout
        wanted = {"fair": "SCHED_OTHER", "chrt -f": "SCHED_FIFO", "p-dm": "SCHED_FIFO"}
        wanted = next((policy for word, policy in wanted.items() if word in name), "SCHED_DEADLINE")
        if wanted not in now:
            raise Failed(f"cyclictest is not of class {wanted} under {name}: {now.strip()}")
        beside = noise(seconds)
        output, _ = child.communicate()
    finally:
        child.kill()
        for other in filter(None, [follower, beside]):
            quiet(other)
    latencies = []
    for line in output.splitlines():
        if found := re.fullmatch(r"(\d+)\s+(\d+)", line.strip()):
            latencies += [int(found[1])] * int(found[2])
    return latencies


def table(title, measured):
    """The figures of each class in Markdown."""
    lines = [f"| {title} | wake-ups | p50 | p99 | p99.9 | max | late |", "|---|---|---|---|---|---|---|"]
    for name, (latencies, late) in measured.items():
        latencies.sort()
        figures = [quantile(latencies, share) for share in (0.5, 0.99, 0.999)] + [latencies[-1]]
        cells = [f"{len(latencies):,}", *(f"{figure:,} us" for figure in figures), "-" if late is None else str(late)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def add_arguments(parser):
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--class", dest="classes", action="append", choices=CLASSES, help="only this one, or these")


def run(arguments):
    classes = arguments.classes or CLASSES
    missing = [tool for tool in ("rt-app", "cyclictest", "stress-ng", "chrt") if not shutil.which(tool)]
    if missing or os.geteuid() != 0:
        sys.exit("needs " + ", ".join(missing + ["root"] * (os.geteuid() != 0)))
    rt_app = {name: ([], 0) for name in classes}
    cyclictest = {name: ([], None) for name in classes}
    try:
        for _ in range(arguments.rounds):
            for name in classes:
                latencies, late = with_rt_app(arguments.program, name, arguments.seconds)
                rt_app[name] = (rt_app[name][0] + latencies, rt_app[name][1] + late)
                cyclictest[name][0].extend(with_cyclictest(arguments.program, name, arguments.seconds))
    except Failed as failed:
        sys.exit(f"error: {failed}")
    print(f"Linux {os.uname().release}, {os.cpu_count()} CPUs, stress-ng on all of them.\n")
    print(table("rt-app", rt_app) + "\n\n" + table("cyclictest", cyclictest))
