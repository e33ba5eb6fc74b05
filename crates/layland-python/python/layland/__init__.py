"""Real-time scheduling on multiprocessors: can it be guaranteed, what will happen.

>>> import layland
>>> tasks = layland.TaskSet.load("demo:dhall")
>>> tasks.check("p-edf").verdict
<Verdict.YES: 'yes'>
>>> run = tasks.simulate("g-edf", until="44ms")
>>> run.total["missed"]
1

Times are strings with a unit (``"5ms"``), ``timedelta``, integers with a unit (``5 * layland.ms``) or fractions of
milliseconds; a float is a ``TypeError``. In results they are whole nanoseconds, and their names end in ``_ns``.

Tables are streams of Arrow: ``polars.DataFrame(run.jobs)``, ``pyarrow.table(run.jobs)`` and DuckDB take them, and
``run.jobs.to_pandas()`` is a DataFrame of any pandas.
"""

from . import _ending
from ._analysis import Analysis, AnalysisInfo, DoesNotApply, analyses
from ._certificate import Proof, verify
from ._check import Assigned, Bound, ChainBound, Checked, CpuLimit, Guarantee, Sensitivity, TaskLimits
from ._command import run_command
from ._compare import Comparison, compare
from ._design import Budget, Design
from ._errors import Error, InputError, InputWarning, Problem, Refused, UnknownVerdict, UsageError
from ._experiment import Claim, Experiment, FigureInfo, Grid, Results, experiment, experiments
from ._generate import generate
from ._layland import Job, PolicyTask, Table, __version__, demos
from ._many import compare_all
from ._policies import PolicyInfo, policies
from ._policy import Policy
from ._run import Run, Trace
from ._task import Task
from ._tasks import TaskSet
from ._times import Duration, as_ns, as_text, ms, ns, s, us
from ._verdict import Verdict

__all__ = [
    "Analysis",
    "AnalysisInfo",
    "Assigned",
    "Bound",
    "Budget",
    "ChainBound",
    "Checked",
    "Claim",
    "Comparison",
    "CpuLimit",
    "Design",
    "DoesNotApply",
    "Duration",
    "Error",
    "Experiment",
    "FigureInfo",
    "Grid",
    "Guarantee",
    "InputError",
    "InputWarning",
    "Job",
    "Policy",
    "PolicyInfo",
    "PolicyTask",
    "Problem",
    "Proof",
    "Refused",
    "Results",
    "Run",
    "Sensitivity",
    "Table",
    "Task",
    "TaskLimits",
    "TaskSet",
    "Trace",
    "UnknownVerdict",
    "UsageError",
    "Verdict",
    "__version__",
    "analyses",
    "as_ns",
    "as_text",
    "compare",
    "compare_all",
    "demos",
    "experiment",
    "experiments",
    "generate",
    "ms",
    "ns",
    "policies",
    "run_command",
    "s",
    "us",
    "verify",
]

del _ending
