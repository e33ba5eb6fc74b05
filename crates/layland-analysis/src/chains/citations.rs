//! The publications that the bounds of this module cite.

use crate::Citation;

/// Davare et al. 2007.
pub(super) const DAVARE: Citation = Citation {
    key: "davare2007period",
    text: "A. Davare, Q. Zhu, M. Di Natale, C. Pinello, S. Kanajan and A. Sangiovanni-Vincentelli. Period optimization \
           for hard real-time distributed automotive systems. 44th Design Automation Conference (DAC 2007), pages \
           278-283.",
    bibtex: "@inproceedings{davare2007period,
  author    = {Abhijit Davare and Qi Zhu and Marco {Di Natale} and Claudio Pinello and Sri Kanajan and
               Alberto Sangiovanni-Vincentelli},
  title     = {Period Optimization for Hard Real-Time Distributed Automotive Systems},
  booktitle = {44th Design Automation Conference (DAC)}, pages = {278--283}, year = {2007}
}",
};

/// Dürr et al. 2019.
pub(super) const DUERR: Citation = Citation {
    key: "duerr2019chains",
    text: "M. Dürr, G. von der Brüggen, K.-H. Chen and J.-J. Chen. End-to-end timing analysis of sporadic cause-effect \
           chains in distributed systems. ACM Transactions on Embedded Computing Systems, 18(5s):58, 2019. \
           doi:10.1145/3358181",
    bibtex: "@article{duerr2019chains,
  author  = {Marco D{\\\"u}rr and Georg von der Br{\\\"u}ggen and Kuan-Hsun Chen and Jian-Jia Chen},
  title   = {End-to-End Timing Analysis of Sporadic Cause-Effect Chains in Distributed Systems},
  journal = {ACM Transactions on Embedded Computing Systems}, volume = {18}, number = {5s}, pages = {58},
  year    = {2019}, doi = {10.1145/3358181}
}",
};

/// Günzel et al. 2023.
pub(super) const GUENZEL: Citation = Citation {
    key: "guenzel2023compositional",
    text: "M. Günzel, K.-H. Chen, N. Ueter, G. von der Brüggen, M. Dürr and J.-J. Chen. Compositional timing analysis \
           of asynchronized distributed cause-effect chains. ACM Transactions on Embedded Computing Systems, 2023. \
           doi:10.1145/3587036",
    bibtex: "@article{guenzel2023compositional,
  author  = {Mario G{\\\"u}nzel and Kuan-Hsun Chen and Niklas Ueter and Georg von der Br{\\\"u}ggen and
             Marco D{\\\"u}rr and Jian-Jia Chen},
  title   = {Compositional Timing Analysis of Asynchronized Distributed Cause-Effect Chains},
  journal = {ACM Transactions on Embedded Computing Systems}, year = {2023},
  doi     = {10.1145/3587036}
}",
};
