//! The meanings of error codes and exit codes: code, title, advice.
//!
//! Long because every code has its entry here.

/// A code, its title and its explanation.
pub(super) type Code = (&'static str, &'static str, &'static str);

/// The codes of problems with input.
pub(super) const ERRORS: &[Code] = &[
    (
        "layland::taskset::missing",
        "a required key is missing",
        "Every task has a `name`, a `period` and a `wcet`; a file starts with `layland = 1` and says how many `cpus` there are.",
    ),
    (
        "layland::taskset::unknown_key",
        "a key that the format does not have",
        "Nothing is ignored silently. The message names the nearest key; `layland schema` lists all.",
    ),
    (
        "layland::taskset::unknown_name",
        "a name that refers to nothing",
        "The message names the nearest one, or all that there are.",
    ),
    (
        "layland::taskset::brackets",
        "two tables [task], where TOML allows one",
        "Write [[task]], with two brackets, before each task.",
    ),
    ("layland::taskset::duplicate_key", "a key twice", "Keep one of the two."),
    (
        "layland::taskset::empty_group",
        "a group without tasks",
        "It takes its budget all the same: give it tasks, with group = \"its name\", or remove it.",
    ),
    (
        "layland::taskset::wrong_type",
        "a value of another type than the key takes",
        "The message says what is expected, and the help shows how to write it.",
    ),
    (
        "layland::taskset::invalid",
        "values that do not make a valid system",
        "Each value is well formed, but together they make no sense: a deadline of zero, a name twice, a CPU that does not exist.",
    ),
    (
        "layland::taskset::missing_unit",
        "a time without a unit",
        "Write times as strings with a unit: \"5ms\". Units are ns, us, ms and s.",
    ),
    (
        "layland::taskset::unknown_unit",
        "a unit of time that does not exist",
        "Units are ns, us, ms and s.",
    ),
    (
        "layland::taskset::not_a_time",
        "a string that is not a time",
        "Write a number and a unit: \"1.5ms\", \"10/3s\".",
    ),
    (
        "layland::taskset::not_a_number",
        "a string that is not a number",
        "Write an integer, a decimal (\"0.75\") or a fraction (\"3/4\").",
    ),
    (
        "layland::taskset::not_whole",
        "a time that is not a whole number of nanoseconds",
        "Times are kept exactly, in nanoseconds: round the value.",
    ),
    (
        "layland::taskset::too_large",
        "a time beyond what fits",
        "No time is longer than 2^60 ns, about 36 years.",
    ),
    (
        "layland::taskset::too_many",
        "more of something than is allowed",
        "The message names the limit.",
    ),
    (
        "layland::taskset::out_of_range",
        "a number outside its range",
        "The message names the range.",
    ),
    (
        "layland::taskset::version",
        "another version of the format",
        "This program reads version 1: `layland = 1`.",
    ),
    (
        "layland::taskset::cpus",
        "a set of CPUs that is wrong",
        "Write \"0-3\", [0, 2], \"all\", \"!7\" or a name of the topology, as in \"l3:0\".",
    ),
    (
        "layland::taskset::speed",
        "a speed that is wrong",
        "Speeds are positive numbers or fractions with numerator and denominator up to 1000000.",
    ),
    (
        "layland::taskset::levels",
        "criticality levels and execution times that do not fit",
        "Give one `wcet`, or one for each level that `[criticality] levels` lists.",
    ),
    (
        "layland::taskset::tie",
        "a tie that does not exist",
        "The rule between jobs of tasks of one `priority` is \"rank\", \"fifo\" or \"any\".",
    ),
    (
        "layland::taskset::exec",
        "an execution model that is wrong",
        "The help lists the models and their keys.",
    ),
    (
        "layland::taskset::regions",
        "the points at which a job may be preempted are given twice, or not at all",
        "Give `nonpreemptive`, or `segments` whose lengths sum to the WCET.",
    ),
    (
        "layland::taskset::steps",
        "a step of a job that cannot be read",
        "Write \"run 1ms\", \"lock bus\", \"unlock bus\" or \"suspend 3ms\"; resources are listed under `[[resource]]`.",
    ),
    (
        "layland::taskset::follows",
        "a task follows one that is not in the file",
        "Name tasks of the same file. Of tasks with `count`, the copy of the same number is meant.",
    ),
    (
        "layland::taskset::cache_sets",
        "cache blocks that cannot be read, or whose reload time is missing",
        "Write ranges of sets (\"0-39\") or a list of numbers and ranges, give `ecb` with `ucb`, and say under \
         `[platform]` how long a block takes to reload: `overhead = { block_reload_time = \"8us\" }`.",
    ),
    (
        "layland::taskset::chain",
        "a chain with a task that does not exist",
        "Name tasks of the file, from the one that samples an event to the one that answers it.",
    ),
    (
        "layland::taskset::release",
        "a release pattern that is wrong",
        "The help lists the kinds and their keys.",
    ),
    (
        "layland::taskset::request",
        "a request that is wrong",
        "A request has a time and one thing that is asked for.",
    ),
    (
        "layland::taskset::not_supported",
        "something that is not supported",
        "The message says what is not done with it.",
    ),
    (
        "layland::platform::cpus_not_given",
        "the number of CPUs is missing",
        "Write `cpus` under [platform], or give --cpus.",
    ),
    (
        "layland::text::line_ends",
        "a file whose lines end with a carriage return only",
        "Save it with newlines (LF, or CR and LF): editors call the format Unix or Windows.",
    ),
    (
        "layland::text::not_a_set",
        "a file that is known, and that is not a task set",
        "The message names it and says what to do with it.",
    ),
    (
        "layland::text::too_long",
        "an input that is too long",
        "Inputs have a limit, so that no input fills the memory.",
    ),
    (
        "layland::text::not_utf8",
        "an input that is not text",
        "Write it in UTF-8; the message says where it stops being that.",
    ),
    (
        "layland::ros2::missing",
        "a required key of an executor is missing",
        "A file has [executor] with a `kind`, and each [[callback]] a `name`, a `kind` and a `wcet`.",
    ),
    (
        "layland::ros2::unknown_key",
        "a key that files of executors do not have",
        "Nothing is ignored silently. The message names the nearest key.",
    ),
    (
        "layland::ros2::unknown_name",
        "a name that refers to nothing",
        "The message names the nearest one, or all that there are.",
    ),
    (
        "layland::ros2::wrong_type",
        "a value of another type than the key takes",
        "The message says what is expected, and the help shows how to write it.",
    ),
    (
        "layland::ros2::out_of_range",
        "a number outside what the key takes",
        "The message says what fits.",
    ),
    (
        "layland::ros2::invalid",
        "values that do not make an executor",
        "Each value is well formed, but together they make no sense: callbacks that activate each other in a circle, say.",
    ),
    (
        "layland::lab::missing",
        "a required key of an experiment is missing",
        "`layland lab show NAME` prints the description of a packaged experiment, which has them all.",
    ),
    (
        "layland::lab::unknown_key",
        "a key that descriptions of experiments do not have",
        "Nothing is ignored silently. The message names the nearest key.",
    ),
    (
        "layland::lab::unknown_name",
        "a name that the experiment does not define",
        "Figures and claims refer to parameters, series and measures by name. The message names the nearest one, or all that there are.",
    ),
    (
        "layland::lab::wrong_type",
        "a value of another type than the key of an experiment takes",
        "The message says what is expected, and the help shows how to write it.",
    ),
    (
        "layland::lab::out_of_range",
        "a number that an experiment cannot use",
        "The message gives the range.",
    ),
    (
        "layland::lab::invalid",
        "an experiment that makes no sense",
        "Each value is well formed, and they do not fit together. The message says which do not.",
    ),
    (
        "layland::toml::syntax",
        "text that is not TOML",
        "The mark shows where the text stops being TOML.",
    ),
    (
        "layland::json::syntax",
        "text that is not JSON",
        "The mark shows where the text stops being JSON.",
    ),
    (
        "layland::json::trailing_comma",
        "a comma before a closing bracket",
        "It is read as if it were not there.",
    ),
    (
        "layland::json::null",
        "a key without a value",
        "A key that is left out has its default; null has no meaning of its own.",
    ),
    (
        "layland::lines::several",
        "a file with a set in each line, where one set is expected",
        "Commands that take many sets, as `check` does, take all lines; others take one line by itself.",
    ),
    (
        "layland::inline::form",
        "a task on the command line of another form",
        "Write NAME=WCET/PERIOD, and a deadline and CPUs if you like: a=1ms/5ms/4ms@0-1.",
    ),
    (
        "layland::inline::time",
        "a time in a task on the command line that is wrong",
        "Times have a unit: a=1ms/5ms.",
    ),
    (
        "layland::inline::cpus",
        "CPUs of a task on the command line that are wrong",
        "Write them after @, as in a=1ms/5ms@0,2.",
    ),
    (
        "layland::xml::syntax",
        "XML that cannot be read",
        "Close every element and quote every attribute where the mark is.",
    ),
    (
        "layland::xml::missing",
        "a required attribute is missing",
        "Add the attribute that the message names.",
    ),
    (
        "layland::xml::cut",
        "a time with a part of a nanosecond",
        "It is cut to whole nanoseconds; write a time that is one.",
    ),
    (
        "layland::xml::time",
        "an attribute that is not a time, or is out of range",
        "Write a number in the unit of the format, as the message says.",
    ),
    ("layland::xml::not_a_number", "an attribute that is not a number", "Write a whole number."),
    (
        "layland::simso::root",
        "an XML file that is not a simulation of SimSo",
        "The first element must be `simulation`.",
    ),
    ("layland::simso::too_many", "more tasks or processors than a set may have", "Split the set."),
    (
        "layland::simso::invalid",
        "a system that SimSo would take and that makes no sense",
        "The message names the task and what is wrong.",
    ),
    (
        "layland::simso::lost",
        "something that the format has no place for",
        "It is left out of the file; write a TOML file to keep it.",
    ),
    (
        "layland::simso::cycles",
        "a number of cycles per millisecond that is not positive",
        "Write `cycles_per_ms` as a positive whole number.",
    ),
    (
        "layland::simso::processors",
        "a simulation without processors",
        "Add a `processors` element with one `processor` for each CPU.",
    ),
    (
        "layland::simso::speed",
        "a speed of a processor that is not positive",
        "Write a positive number.",
    ),
    (
        "layland::simso::cpu",
        "a task of Fixed_PEDF on a processor that does not exist",
        "Write the `id` of a processor of the file.",
    ),
    (
        "layland::simso::follows",
        "a task that follows another one",
        "Chains of tasks are not simulated: the task is read as one of its own kind.",
    ),
    (
        "layland::simso::task_type",
        "a type of task that SimSo does not have",
        "SimSo has Periodic, Sporadic and APeriodic, and stops at any other word.",
    ),
    (
        "layland::simso::aperiodic",
        "a task without a period",
        "Give it releases, or make it periodic.",
    ),
    (
        "layland::schedcat::root",
        "an XML file that is not a task set of SchedCAT",
        "The first element must be `taskset`, or a list of them.",
    ),
    (
        "layland::schedcat::sets",
        "several task sets in one file",
        "Write each into a file of its own.",
    ),
    ("layland::schedcat::too_many", "more tasks than a set may have", "Split the set."),
    (
        "layland::schedcat::invalid",
        "a system that SchedCAT would take and that makes no sense",
        "The message names the task and what is wrong.",
    ),
    (
        "layland::schedcat::partition",
        "a partition that the platform does not have",
        "Use a number from 0 to the number of CPUs less one.",
    ),
    (
        "layland::schedcat::sections",
        "critical sections in a set of SchedCAT",
        "An error if their numbers are wrong. A warning that they come first in a job: the format does not say where they are.",
    ),
    (
        "layland::schedcat::lost",
        "something that the format has no place for",
        "It is left out of the file; write a TOML file to keep it.",
    ),
    (
        "layland::csv::header",
        "a table whose first line does not name columns",
        "Name at least `period` and `wcet`; `--columns Task,C,T` names the columns of a table without titles.",
    ),
    (
        "layland::csv::unknown_column",
        "a column that is not known",
        "The message names the nearest column.",
    ),
    (
        "layland::csv::another",
        "a second table in a document",
        "Only the first one is read: put the tasks of the second into a file of their own.",
    ),
    (
        "layland::csv::objects",
        "a list of tasks in JSON or YAML with something else in it",
        "A task is an object whose keys are the titles of a table, such as `name`, `wcet` and `period`.",
    ),
    (
        "layland::csv::sections",
        "a list of critical sections in JSON or YAML, read as steps",
        "Each item is a resource and a time, `[1, 2]`; the resource 0 is none. A task-set file writes `steps`.",
    ),
    (
        "layland::csv::release",
        "a type of task that is neither periodic nor sporadic",
        "Write periodic or sporadic; an aperiodic task needs a least time between its jobs.",
    ),
    (
        "layland::yaml::syntax",
        "text that is not read as YAML",
        "Lists and maps, in blocks or in one line, are read; anchors, tags and strings of several lines are not.",
    ),
    (
        "layland::dot::syntax",
        "text that is not read as a directed graph",
        "Write `digraph { a [wcet = \"1ms\"]; a -> b }`, without subgraphs.",
    ),
    (
        "layland::dot::edge",
        "an attribute of an edge of a graph",
        "It does not count: a message takes no time of its own here.",
    ),
    (
        "layland::sag::jobs",
        "a line of a job set that is not a job",
        "A job has a task, a number, an earliest and a latest release, two costs, a deadline and a priority.",
    ),
    (
        "layland::sag::differ",
        "jobs of one task with different parameters",
        "Each becomes a task of its own: a task has one WCET, one relative deadline, one jitter and one priority.",
    ),
    (
        "layland::sag::nonpreemptive",
        "the jobs of a job set are not preempted",
        "SAG takes them so. Leave `nonpreemptive` out in a task-set file if they may be.",
    ),
    (
        "layland::sag::invalid",
        "values of a job set that do not make a valid system",
        "The message names the task and what is wrong.",
    ),
    (
        "layland::sag::lost",
        "something that a job set has no place for",
        "It is left out of the file; write a TOML file to keep it.",
    ),
    (
        "layland::poet::task",
        "something in a problem of POET that is not read",
        "A task has an id, an execution time, a deadline, a period or an arrival curve, and a priority under FP.",
    ),
    (
        "layland::poet::invalid",
        "values of a problem of POET that do not make a valid system",
        "The message names the task and what is wrong.",
    ),
    (
        "layland::poet::lost",
        "something that a problem of POET has no place for",
        "It is left out of the file; write a TOML file to keep it.",
    ),
    (
        "layland::csv::missing",
        "a required cell or column is empty",
        "Every row needs a period and a WCET, and a name if the table has a column of names.",
    ),
    (
        "layland::csv::row",
        "a row of another length than the first line",
        "Give each row a cell for each column.",
    ),
    (
        "layland::csv::quote",
        "a quotation mark that is not closed",
        "Write a quotation mark inside a quoted cell twice.",
    ),
    (
        "layland::csv::time",
        "a time in a table that is wrong",
        "Times have a unit, in the cell or in the name of the column.",
    ),
    (
        "layland::csv::how_often",
        "a number of misses in a table that is wrong",
        "Write `9 of 10`, `at most 1 miss in 10` or `at most 2 misses in a row`; `1e-6 per job` for a probability.",
    ),
    (
        "layland::csv::rounded",
        "times in a table that are finer than a nanosecond",
        "A program printed them. Execution times, budgets and jitter are rounded up, other times down.",
    ),
    (
        "layland::csv::utilization",
        "a column of utilizations in place of execution times",
        "WCET = utilization x period, rounded up. Write decimal numbers, fractions or percentages.",
    ),
    (
        "layland::csv::not_a_number",
        "a cell that is not a number",
        "Write an integer, a decimal or a fraction.",
    ),
    ("layland::csv::cpus", "a set of CPUs in a table that is wrong", "Write \"0-3\" or \"0 2\"."),
    (
        "layland::csv::levels",
        "criticalities in a table that do not fit",
        "Give a WCET for each level.",
    ),
    (
        "layland::csv::invalid",
        "values of a table that do not make a valid system",
        "The message says which, and how to fix it.",
    ),
    (
        "layland::csv::on_miss",
        "a way to treat late jobs in a table that is not known",
        "Write continue, abort or skip.",
    ),
    (
        "layland::csv::reclaim",
        "the value of `reclaim`, in a table, is neither true nor false",
        "Write true or false.",
    ),
    (
        "layland::csv::regions",
        "the points at which a job may be preempted, in a table, cannot be read",
        "Write true, false or a time for `nonpreemptive`, or times with blanks between them for `segments`.",
    ),
    (
        "layland::csv::steps",
        "a step of a job, in a table, that cannot be read",
        "Write steps with semicolons between them: run 1ms; lock bus; run 2ms; unlock bus.",
    ),
    (
        "layland::csv::follows",
        "a task, in a table, follows one that is not there",
        "Name tasks of the same table, with semicolons between them: camera; radar.",
    ),
    (
        "layland::csv::not_modelled",
        "a column that changes what can be guaranteed, and for which a table has no place",
        "Groups under a reservation, speeds and probabilities: an answer without them would be about another system.",
    ),
    (
        "layland::csv::background",
        "a job that comes once and has no deadline",
        "A warning: it gives way to all others, and is left out. Give it a deadline, or a server: a task with `budget`.",
    ),
    (
        "layland::csv::no_execution",
        "a row whose execution times are all zero",
        "A warning: the task is left out, because it never executes.",
    ),
    (
        "layland::csv::unused_column",
        "a column of another tool that a task does not need",
        "A warning: the column does not count.",
    ),
    (
        "layland::csv::structure",
        "a list or an object beside the list of tasks",
        "Resources, servers and edges are such lists, and a guarantee without them would be false. Write a task-set file, \
         or remove the key if it does not matter.",
    ),
    ("layland::csv::too_many", "more rows than are allowed", "The message names the limit."),
    (
        "layland::csv::lost",
        "something that a table has no place for",
        "A warning: the set was written without it. Use TOML to keep it.",
    ),
    (
        "layland::plain::line",
        "a line that is not a task",
        "Write the WCET, the period and, if it differs, the deadline: 1ms 5ms 4ms.",
    ),
    (
        "layland::plain::time",
        "a time in plain lines that is wrong",
        "Times have a unit, on their own or by --unit.",
    ),
    (
        "layland::plain::invalid",
        "times in plain lines that do not make a valid system",
        "The message says which, and how to fix it.",
    ),
    (
        "layland::plain::background",
        "aperiodic jobs without a server",
        "A warning: they give way to the tasks, and are left out. Write the server, as in S 5 20.",
    ),
    ("layland::plain::too_many", "more lines than are allowed", "Split the set."),
    (
        "layland::schedsim::lost",
        "something of schedsim that has no place here",
        "A warning: noises and dependencies go, what is not real-time gives way to all others, and some schedulers have no policy.",
    ),
    (
        "layland::schedsim::cpus",
        "a simulation without CPUs",
        "Add a `pe` for each CPU under `hardware` and `cpus`.",
    ),
    (
        "layland::schedsim::speed",
        "a speed of a CPU that is not positive",
        "Write a positive number with at most six decimals.",
    ),
    (
        "layland::schedsim::type",
        "a type of task that schedsim does not have",
        "Write periodic or sporadic.",
    ),
    (
        "layland::schedsim::time",
        "a time of schedsim that is wrong",
        "Times have no unit: say it with --unit.",
    ),
    (
        "layland::schedsim::invalid",
        "a set of schedsim that is not a valid system",
        "The message says which task, and how to fix it.",
    ),
    ("layland::schedsim::too_many", "more tasks than a set may have", "Split the set."),
    (
        "layland::rtapp::form",
        "rt-app JSON of another form than is known",
        "The message says what was expected.",
    ),
    (
        "layland::rtapp::wrong_type",
        "a value of another type in rt-app JSON",
        "The message says what is expected.",
    ),
    (
        "layland::rtapp::unknown_key",
        "a key that rt-app does not have",
        "A warning: it is left out.",
    ),
    (
        "layland::rtapp::unknown_policy",
        "a scheduling policy that is not known",
        "rt-app knows SCHED_OTHER, SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.",
    ),
    (
        "layland::rtapp::not_modelled",
        "something of rt-app that layland does not model",
        "A warning: the task is read without it, and behaves otherwise than under rt-app.",
    ),
    (
        "layland::rtapp::left_out",
        "a task that is left out",
        "A warning: it has no period, or never ends.",
    ),
    (
        "layland::rtapp::no_task",
        "no task is left",
        "rt-app tasks need a `run` and a `timer`, or SCHED_DEADLINE parameters.",
    ),
    (
        "layland::rtapp::no_period",
        "a task without a period",
        "Give it a `timer` with a period, or SCHED_DEADLINE parameters.",
    ),
    (
        "layland::rtapp::no_budget",
        "a SCHED_DEADLINE task without a budget",
        "Give it a `dl-runtime`.",
    ),
    (
        "layland::rtapp::relative_timer",
        "a timer that counts from the end of a job",
        "A warning: it is read as periodic.",
    ),
    (
        "layland::rtapp::loop",
        "a loop that is not modelled",
        "A warning: the message says how it is read.",
    ),
    (
        "layland::rtapp::decimal",
        "a decimal where rt-app has integers",
        "A warning: rt-app itself would not read it.",
    ),
    ("layland::rtapp::duplicate", "a key twice", "A warning: in JSON the last one counts."),
    ("layland::rtapp::nice", "a nice value", "A warning: it has no meaning among real-time tasks."),
    (
        "layland::rtapp::priority",
        "a priority that is out of range",
        "Priorities of SCHED_FIFO are 1 to 99.",
    ),
    (
        "layland::rtapp::equal",
        "threads that share a priority",
        "A warning: those of SCHED_FIFO are served first come, first served, and those of SCHED_RR in any order.",
    ),
    (
        "layland::rtapp::levels",
        "more priorities than SCHED_FIFO has",
        "Give several tasks one `priority`, or use the engine `fifo` of `layland run`.",
    ),
    ("layland::rtapp::out_of_range", "a number outside its range", "The message names the range."),
    (
        "layland::rtapp::too_many",
        "more of something than is allowed",
        "The message names the limit.",
    ),
    (
        "layland::rtapp::invalid",
        "values that do not make a valid system",
        "The message says which, and how to fix it.",
    ),
    (
        "layland::rtapp::lost",
        "something that rt-app JSON has no place for",
        "A warning: the set was written without it. Use TOML to keep it.",
    ),
];

/// The exit codes.
pub(super) const EXITS: &[Code] = &[
    ("0", "yes", "Done: every deadline was met, or is guaranteed."),
    (
        "1",
        "no",
        "Done: a deadline was missed or cannot be guaranteed, or a policy refused the set.",
    ),
    ("2", "usage", "Wrong arguments."),
    ("3", "bad input", "The input is invalid; the report says where."),
    (
        "4",
        "unknown",
        "Done: no test decides. Sufficient tests failed, or a search stopped at its limit.",
    ),
    (
        "5",
        "refused by the system",
        "A file cannot be written, a thread cannot be started, or another run has the CPUs. Or the kernel \
         refused to take back what a run has changed: `layland doctor --clean` tries again.",
    ),
    (
        "6",
        "measurement not trustworthy",
        "The machine was late, for a cause that is named where it is known, or a trace lost events: a miss or a \
         broken rule decides nothing.",
    ),
    (
        "70",
        "bug",
        "A bug of layland. Please report it with the command line, the task set and the seed.",
    ),
    ("130", "interrupted", "Partial results are kept and marked."),
];
