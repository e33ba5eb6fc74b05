//! SCHED_DEADLINE and its repair: threads with constant-bandwidth servers in per-CPU run queues.
//!
//! [`server`] is the reservation, [`linux`] its use by Linux on several CPUs (**DL**), and
//! [`semi_partitioned`] the repaired scheduler for systems with some threads tied to a CPU
//! (**DL-SP**).

pub mod accounts;
pub(crate) mod admission;
mod cpudl;
mod kernel;
pub mod linux;
pub(crate) mod options;
pub(crate) mod parameters;
pub mod price;
pub(crate) mod runqueues;
pub mod semi_partitioned;
pub mod server;
mod sorted;

pub use options::{KernelOptions, Throttle};
pub use runqueues::{Threads, Tie};

use crate::info::{OptionInfo, PolicyInfo, Values};
use layland_model::{Algorithm, Citation};
use options::{
    QUEUE_TIES, exhaust, fair, grub, grub_pa, lag_reset, slack, start, throttle, throttle_cost,
    tie, umax,
};
use parameters::CONSTRAINED;

/// Abeni and Buttazzo 1998.
pub const ABENI_BUTTAZZO: Citation = Citation {
    key: "abeni1998integrating",
    text: "L. Abeni and G. Buttazzo. Integrating multimedia applications in hard real-time systems. \
           RTSS 1998, pages 4-13.",
    bibtex: "@inproceedings{abeni1998integrating,
  author    = {Luca Abeni and Giorgio Buttazzo},
  title     = {Integrating Multimedia Applications in Hard Real-Time Systems},
  booktitle = {19th IEEE Real-Time Systems Symposium (RTSS)}, pages = {4--13}, year = {1998},
  doi       = {10.1109/REAL.1998.739726}
}",
};

/// Lipari and Baruah 2000.
pub const LIPARI_BARUAH: Citation = Citation {
    key: "lipari2000greedy",
    text: "G. Lipari and S. Baruah. Greedy reclamation of unused bandwidth in constant-bandwidth servers. \
           ECRTS 2000, pages 193-200.",
    bibtex: "@inproceedings{lipari2000greedy,
  author    = {Giuseppe Lipari and Sanjoy Baruah},
  title     = {Greedy Reclamation of Unused Bandwidth in Constant-Bandwidth Servers},
  booktitle = {12th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {193--200},
  year      = {2000},
  doi       = {10.1109/EMRTS.2000.854007}
}",
};

/// Abeni et al. 2016.
pub const ABENI_RECLAIMING: Citation = Citation {
    key: "abeni2016multicore",
    text: "L. Abeni, G. Lipari, A. Parri and Y. Sun. Multicore CPU reclaiming: parallel or sequential? \
           SAC 2016, pages 1877-1884.",
    bibtex: "@inproceedings{abeni2016multicore,
  author    = {Luca Abeni and Giuseppe Lipari and Andrea Parri and Youcheng Sun},
  title     = {Multicore {CPU} Reclaiming: Parallel or Sequential?},
  booktitle = {31st Annual ACM Symposium on Applied Computing (SAC)}, pages = {1877--1884}, year = {2016},
  doi       = {10.1145/2851613.2851743}
}",
};

/// Lelli et al. 2016.
pub const LELLI: Citation = Citation {
    key: "lelli2016deadline",
    text: "J. Lelli, C. Scordino, L. Abeni and D. Faggioli. Deadline scheduling in the Linux kernel. \
           Software: Practice and Experience 46(6):821-839, 2016.",
    bibtex: "@article{lelli2016deadline,
  author  = {Juri Lelli and Claudio Scordino and Luca Abeni and Dario Faggioli},
  title   = {Deadline Scheduling in the {Linux} Kernel},
  journal = {Software: Practice and Experience}, volume = {46}, number = {6}, pages = {821--839},
  year    = {2016},
  doi     = {10.1002/spe.2335}
}",
};

/// Returns the scheduler of Linux, and the repaired one.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let dl = PolicyInfo::new(
        "dl",
        "SCHED_DEADLINE, as in Linux",
        "threads with budgets in per-CPU run queues, pushed and pulled towards global EDF",
        |system, options| Ok(Box::new(linux::dl(system, options)?)),
    )
    .implementing(Algorithm::SchedDeadline)
    .refusing([CONSTRAINED])
    .breaking_ties(QUEUE_TIES)
    .with_options([
        tie(),
        lag_reset(),
        OptionInfo::new(
            "ac",
            "on: admission control, which needs affinities to whole clusters; off (default)",
            Values::Switch,
        ),
        admission::limit(),
        fair(),
        kernel::kernel(),
        kernel::setattr_tardy(),
        kernel::affinity_tardy(),
        kernel::affinity_early(),
        kernel::capacity(),
        exhaust(),
        grub(),
        umax(),
        accounts::lend(),
        price::arith(),
        grub_pa(),
        start(),
    ])
    .citing([LELLI, ABENI_BUTTAZZO, LIPARI_BARUAH, ABENI_RECLAIMING, Citation::TANG]);
    let dl_sp = PolicyInfo::new(
        "dl-sp",
        "SCHED_DEADLINE, repaired for semi-partitioned systems",
        "as dl, but a migrating thread leaves a CPU where one that is tied to it waits",
        |system, options| Ok(Box::new(semi_partitioned::dl_sp(system, options)?)),
    )
    .implementing(Algorithm::SemiPartitionedDeadline)
    .refusing([CONSTRAINED, SEMI_PARTITIONED])
    .breaking_ties(QUEUE_TIES)
    .with_options([
        tie(),
        lag_reset(),
        OptionInfo::new(
            "ac",
            "on (default): admission control by cluster and by CPU; off",
            Values::Switch,
        ),
        admission::limit(),
        fair(),
        slack(),
        throttle(),
        throttle_cost(),
        exhaust(),
        grub(),
        umax(),
        accounts::lend(),
        price::arith(),
        grub_pa(),
        start(),
    ])
    .citing([Citation::TANG, LIPARI_BARUAH, ABENI_RECLAIMING, ABENI_BUTTAZZO]);
    vec![dl, dl_sp]
}

const SEMI_PARTITIONED: &str =
    "tasks with an affinity to more than one CPU but not the whole cluster";
