"""Runs SimSo on every FILE.xml of a folder and writes what each job did into FILE.out.

Lines are `run TASK JOB START END` and `end TASK JOB AT`: positions from 0, times in nanoseconds. With a
FILE.cpus, a line with the CPU of each task, tasks are scheduled by EDF on their CPU, and else by
global EDF.
"""

import contextlib
import io
import pathlib
import sys

from simso.configuration import Configuration
from simso.core import JobEvent, Model
from simso.core.Scheduler import SchedulerInfo
from simso.utils import PartitionedScheduler


def partitioned(cpus):
    """EDF on the CPUs that the tasks are given."""

    class Partitioned(PartitionedScheduler):
        def init(self):
            def pack(scheduler):
                for task, cpu in zip(scheduler.task_list, cpus):
                    scheduler.affect_task_to_processor(task, scheduler.processors[cpu])
                return True

            PartitionedScheduler.init(self, SchedulerInfo("simso.schedulers.EDF_mono"), pack)

    return Partitioned


def lines(path):
    configuration = Configuration(str(path))
    cpus = path.with_suffix(".cpus")
    if cpus.exists():
        configuration.scheduler_info.clas = partitioned([int(c) for c in cpus.read_text().split()])
    model = Model(configuration)
    with contextlib.redirect_stdout(io.StringIO()):
        model.run_model()
    for position, task in enumerate(model.task_list):
        number = {job: seq for seq, job in enumerate(task.jobs)}
        since = {}
        for at, event in task.monitor:
            job = number[event.job]
            if event.event == JobEvent.EXECUTE:
                since[job] = at
            elif event.event in (JobEvent.PREEMPTED, JobEvent.TERMINATED, JobEvent.ABORTED):
                if job in since:
                    yield f"run {position} {job} {since.pop(job)} {at}"
                if event.event == JobEvent.TERMINATED:
                    yield f"end {position} {job} {at}"
        for job, at in since.items():
            yield f"run {position} {job} {at} {configuration.duration}"


for file in sorted(pathlib.Path(sys.argv[1]).glob("*.xml")):
    file.with_suffix(".out").write_text("".join(line + "\n" for line in lines(file)))
