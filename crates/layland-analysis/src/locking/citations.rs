//! The publications that the bounds of this module cite.

use crate::Citation;

/// Torroni, Kiziltan and Faldella 2018.
pub const TORRONI: Citation = Citation {
    key: "torroni2018blocking",
    text: "P. Torroni, Z. Kiziltan and E. Faldella. Blocking time under basic priority inheritance: polynomial bound \
           and exact computation. arXiv:1806.01589, 2018.",
    bibtex: "@misc{torroni2018blocking,
  author = {Paolo Torroni and Zeynep Kiziltan and Eugenio Faldella},
  title  = {Blocking Time under Basic Priority Inheritance: Polynomial Bound and Exact Computation},
  note   = {arXiv:1806.01589}, year = {2018}
}",
};

/// Baker 1991.
pub const BAKER: Citation = Citation {
    key: "baker1991stack",
    text: "T. P. Baker. Stack-based scheduling of realtime processes. Real-Time Systems, 3(1):67-99, 1991.",
    bibtex: "@article{baker1991stack,
  author  = {Theodore P. Baker},
  title   = {Stack-Based Scheduling of Realtime Processes},
  journal = {Real-Time Systems}, volume = {3}, number = {1}, pages = {67--99}, year = {1991},
  doi     = {10.1007/BF00365393}
}",
};

/// Baruah 2006.
pub const BARUAH_2006: Citation = Citation {
    key: "baruah2006resource",
    text: "S. K. Baruah. Resource sharing in EDF-scheduled systems: a closer look. RTSS 2006, pages 379-387.",
    bibtex: "@inproceedings{baruah2006resource,
  author    = {Sanjoy K. Baruah},
  title     = {Resource Sharing in {EDF}-Scheduled Systems: A Closer Look},
  booktitle = {27th IEEE Real-Time Systems Symposium (RTSS)}, pages = {379--387}, year = {2006}
}",
};

/// Chen et al. 2019.
pub const CHEN_2019: Citation = Citation {
    key: "chen2019many",
    text: "J.-J. Chen et al. Many suspensions, many problems: a review of self-suspending tasks in real-time systems. \
           Real-Time Systems, 55:144-207, 2019.",
    bibtex: "@article{chen2019many,
  author  = {Jian-Jia Chen and Geoffrey Nelissen and Wen-Hung Huang and Maolin Yang and Bj{\\\"o}rn Brandenburg and
             Konstantinos Bletsas and Cong Liu and Pascal Richard and Fr{\\'e}d{\\'e}ric Ridouard and Neil Audsley and
             Raj Rajkumar and Dionisio de Niz and Georg von der Br{\\\"u}ggen},
  title   = {Many Suspensions, Many Problems: A Review of Self-Suspending Tasks in Real-Time Systems},
  journal = {Real-Time Systems}, volume = {55}, pages = {144--207}, year = {2019},
  doi     = {10.1007/s11241-018-9316-9}
}",
};

/// Chen, Nelissen and Huang 2016.
pub const CHEN_2016: Citation = Citation {
    key: "chen2016unifying",
    text: "J.-J. Chen, G. Nelissen and W.-H. Huang. A unifying response time analysis framework for dynamic \
           self-suspending tasks. ECRTS 2016, pages 61-71.",
    bibtex: "@inproceedings{chen2016unifying,
  author    = {Jian-Jia Chen and Geoffrey Nelissen and Wen-Hung Huang},
  title     = {A Unifying Response Time Analysis Framework for Dynamic Self-Suspending Tasks},
  booktitle = {28th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {61--71}, year = {2016},
  doi       = {10.1109/ECRTS.2016.31}
}",
};

/// Bletsas et al. 2018.
pub const BLETSAS: Citation = Citation {
    key: "bletsas2018errata",
    text: "K. Bletsas, N. C. Audsley, W.-H. Huang, J.-J. Chen and G. Nelissen. Errata for three papers (2004-05) on \
           fixed-priority scheduling with self-suspensions. Leibniz Transactions on Embedded Systems, 5(1):02:1-02:20, \
           2018.",
    bibtex: "@article{bletsas2018errata,
  author  = {Konstantinos Bletsas and Neil C. Audsley and Wen-Hung Huang and Jian-Jia Chen and Geoffrey Nelissen},
  title   = {Errata for Three Papers (2004-05) on Fixed-Priority Scheduling with Self-Suspensions},
  journal = {Leibniz Transactions on Embedded Systems}, volume = {5}, number = {1}, pages = {02:1--02:20},
  year    = {2018},
  doi     = {10.4230/LITES-v005-i001-a002}
}",
};

/// Liu 2000.
pub const LIU: Citation = Citation {
    key: "liu2000realtime",
    text: "J. W. S. Liu. Real-Time Systems. Prentice Hall, 2000.",
    bibtex: "@book{liu2000realtime,
  author = {Jane W. S. Liu}, title = {Real-Time Systems}, publisher = {Prentice Hall}, year = {2000}
}",
};

/// Rajkumar 1990.
pub const RAJKUMAR_1990: Citation = Citation {
    key: "rajkumar1990shared",
    text: "R. Rajkumar. Real-time synchronization protocols for shared memory multiprocessors. ICDCS 1990, \
           pages 116-123.",
    bibtex: "@inproceedings{rajkumar1990shared,
  author    = {Ragunathan Rajkumar},
  title     = {Real-Time Synchronization Protocols for Shared Memory Multiprocessors},
  booktitle = {10th International Conference on Distributed Computing Systems (ICDCS)}, pages = {116--123},
  year      = {1990},
  doi       = {10.1109/ICDCS.1990.89257}
}",
};

/// Rajkumar, Sha and Lehoczky 1988.
pub const RAJKUMAR_1988: Citation = Citation {
    key: "rajkumar1988multiprocessors",
    text: "R. Rajkumar, L. Sha and J. P. Lehoczky. Real-time synchronization protocols for multiprocessors. RTSS 1988, \
           pages 259-269.",
    bibtex: "@inproceedings{rajkumar1988multiprocessors,
  author    = {Ragunathan Rajkumar and Lui Sha and John P. Lehoczky},
  title     = {Real-Time Synchronization Protocols for Multiprocessors},
  booktitle = {9th IEEE Real-Time Systems Symposium (RTSS)}, pages = {259--269}, year = {1988}
}",
};

/// Lakshmanan, de Niz and Rajkumar 2009.
pub const LAKSHMANAN: Citation = Citation {
    key: "lakshmanan2009coordinated",
    text: "K. Lakshmanan, D. de Niz and R. Rajkumar. Coordinated task scheduling, allocation and synchronization on \
           multiprocessors. RTSS 2009, pages 469-478.",
    bibtex: "@inproceedings{lakshmanan2009coordinated,
  author    = {Karthik Lakshmanan and Dionisio de Niz and Ragunathan Rajkumar},
  title     = {Coordinated Task Scheduling, Allocation and Synchronization on Multiprocessors},
  booktitle = {30th IEEE Real-Time Systems Symposium (RTSS)}, pages = {469--478}, year = {2009}
}",
};

/// Brandenburg 2019.
pub const BRANDENBURG_2019: Citation = Citation {
    key: "brandenburg2019locking",
    text: "B. B. Brandenburg. Multiprocessor real-time locking protocols: a systematic review. arXiv:1909.09600, \
           2019.",
    bibtex: "@misc{brandenburg2019locking,
  author = {Bj{\\\"o}rn B. Brandenburg},
  title  = {Multiprocessor Real-Time Locking Protocols: A Systematic Review},
  note   = {arXiv:1909.09600}, year = {2019}
}",
};

/// Gai, Lipari and Di Natale 2001.
pub const GAI: Citation = Citation {
    key: "gai2001minimizing",
    text: "P. Gai, G. Lipari and M. Di Natale. Minimizing memory utilization of real-time task sets in single and \
           multi-processor systems-on-a-chip. RTSS 2001, pages 73-83.",
    bibtex: "@inproceedings{gai2001minimizing,
  author    = {Paolo Gai and Giuseppe Lipari and Marco {Di Natale}},
  title     = {Minimizing Memory Utilization of Real-Time Task Sets in Single and Multi-Processor Systems-on-a-Chip},
  booktitle = {22nd IEEE Real-Time Systems Symposium (RTSS)}, pages = {73--83}, year = {2001},
  doi       = {10.1109/REAL.2001.990598}
}",
};
