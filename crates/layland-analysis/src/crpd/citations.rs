//! The papers of this module.

use crate::Citation;

/// Altmeyer, Davis and Maiza 2012.
pub const ALTMEYER: Citation = Citation {
    key: "altmeyer2012improved",
    text: "S. Altmeyer, R. I. Davis and C. Maiza. Improved cache related pre-emption delay aware response time \
           analysis for fixed priority pre-emptive systems. Real-Time Systems 48(5):499-526, 2012.",
    bibtex: "@article{altmeyer2012improved,
  author  = {Sebastian Altmeyer and Robert I. Davis and Claire Maiza},
  title   = {Improved Cache Related Pre-emption Delay Aware Response Time Analysis for Fixed Priority Pre-emptive
             Systems},
  journal = {Real-Time Systems}, volume = {48}, number = {5}, pages = {499--526}, year = {2012},
  doi     = {10.1007/s11241-012-9152-2}
}",
};

/// Busquets-Mataix, Serrano, Ors, Gil and Wellings 1996.
pub const BUSQUETS: Citation = Citation {
    key: "busquets1996adding",
    text: "J. V. Busquets-Mataix, J. J. Serrano, R. Ors, P. Gil and A. Wellings. Adding instruction cache effect to \
           schedulability analysis of preemptive real-time systems. RTAS 1996, pages 204-212.",
    bibtex: "@inproceedings{busquets1996adding,
  author    = {Jos{\\'e} V. Busquets-Mataix and Juan J. Serrano and Rafael Ors and Pedro Gil and Andy Wellings},
  title     = {Adding Instruction Cache Effect to Schedulability Analysis of Preemptive Real-Time Systems},
  booktitle = {2nd IEEE Real-Time Technology and Applications Symposium (RTAS)}, pages = {204--212}, year = {1996}
}",
};

/// Lee et al. 1998.
pub const LEE: Citation = Citation {
    key: "lee1998analysis",
    text: "C.-G. Lee, J. Hahn, Y.-M. Seo, S. L. Min, R. Ha, S. Hong, C. Y. Park, M. Lee and C. S. Kim. Analysis of \
           cache-related preemption delay in fixed-priority preemptive scheduling. IEEE Transactions on Computers \
           47(6):700-713, 1998.",
    bibtex: "@article{lee1998analysis,
  author  = {Chang-Gun Lee and Joosun Hahn and Yang-Min Seo and Sang Lyul Min and Rhan Ha and Seongsoo Hong and
             Chang Yun Park and Minsuk Lee and Chong Sang Kim},
  title   = {Analysis of Cache-Related Preemption Delay in Fixed-Priority Preemptive Scheduling},
  journal = {IEEE Transactions on Computers}, volume = {47}, number = {6}, pages = {700--713}, year = {1998},
  doi     = {10.1109/12.689649}
}",
};

/// Tan and Mooney 2007.
pub const TAN: Citation = Citation {
    key: "tan2007timing",
    text: "Y. Tan and V. Mooney. Timing analysis for preemptive multitasking real-time systems with caches. ACM \
           Transactions on Embedded Computing Systems 6(1), 2007.",
    bibtex: "@article{tan2007timing,
  author  = {Yudong Tan and Vincent Mooney},
  title   = {Timing Analysis for Preemptive Multitasking Real-Time Systems with Caches},
  journal = {ACM Transactions on Embedded Computing Systems}, volume = {6}, number = {1}, year = {2007}
}",
};

/// Lunniss, Altmeyer, Maiza and Davis 2013.
pub const LUNNISS: Citation = Citation {
    key: "lunniss2013integrating",
    text: "W. Lunniss, S. Altmeyer, C. Maiza and R. I. Davis. Integrating cache related pre-emption delay analysis \
           into EDF scheduling. RTAS 2013, pages 75-84.",
    bibtex: "@inproceedings{lunniss2013integrating,
  author    = {Will Lunniss and Sebastian Altmeyer and Claire Maiza and Robert I. Davis},
  title     = {Integrating Cache Related Pre-emption Delay Analysis into {EDF} Scheduling},
  booktitle = {19th IEEE Real-Time and Embedded Technology and Applications Symposium (RTAS)},
  pages     = {75--84}, year = {2013}
}",
};
