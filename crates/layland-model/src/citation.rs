//! Citations of papers.

/// The citation of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Citation {
    /// BibTeX key.
    pub key: &'static str,
    /// As a line of text.
    pub text: &'static str,
    /// As a BibTeX entry.
    pub bibtex: &'static str,
}

/// The papers that both policies and analyses cite.
impl Citation {
    /// Anderson and Srinivasan 2001.
    pub const ANDERSON_PFAIR: Citation = Citation {
        key: "anderson2001mixed",
        text: "J. H. Anderson and A. Srinivasan. Mixed Pfair/ERfair scheduling of asynchronous periodic tasks. \
               13th Euromicro Conference on Real-Time Systems (ECRTS 2001), pages 76-85. doi:10.1109/EMRTS.2001.934004",
        bibtex: "@inproceedings{anderson2001mixed,
  author    = {James H. Anderson and Anand Srinivasan},
  title     = {Mixed {Pfair/ERfair} Scheduling of Asynchronous Periodic Tasks},
  booktitle = {13th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {76--85}, year = {2001},
  doi       = {10.1109/EMRTS.2001.934004}
}",
    };

    /// Srinivasan and Anderson 2002.
    pub const SRINIVASAN_PFAIR: Citation = Citation {
        key: "srinivasan2002optimal",
        text: "A. Srinivasan and J. H. Anderson. Optimal rate-based scheduling on multiprocessors. \
               34th ACM Symposium on Theory of Computing (STOC 2002).",
        bibtex: "@inproceedings{srinivasan2002optimal,
  author    = {Anand Srinivasan and James H. Anderson},
  title     = {Optimal Rate-Based Scheduling on Multiprocessors},
  booktitle = {34th ACM Symposium on Theory of Computing (STOC)}, year = {2002}
}",
    };

    /// Levin et al. 2010.
    pub const LEVIN: Citation = Citation {
        key: "levin2010dpfair",
        text: "G. Levin, S. Funk, C. Sadowski, I. Pye and S. Brandt. DP-FAIR: a simple model for understanding optimal \
               multiprocessor scheduling. 22nd Euromicro Conference on Real-Time Systems (ECRTS 2010), pages 3-13.",
        bibtex: "@inproceedings{levin2010dpfair,
  author    = {Greg Levin and Shelby Funk and Caitlin Sadowski and Ian Pye and Scott Brandt},
  title     = {{DP-FAIR}: A Simple Model for Understanding Optimal Multiprocessor Scheduling},
  booktitle = {22nd Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {3--13}, year = {2010}
}",
    };

    /// Funk 2010.
    pub const FUNK: Citation = Citation {
        key: "funk2010lretl",
        text: "S. Funk. LRE-TL: an optimal multiprocessor algorithm for sporadic task sets with unconstrained deadlines. \
               Real-Time Systems, 2010.",
        bibtex: "@article{funk2010lretl,
  author    = {Shelby Funk},
  title     = {{LRE-TL}: An Optimal Multiprocessor Algorithm for Sporadic Task Sets with Unconstrained Deadlines},
  journal   = {Real-Time Systems}, year = {2010}
}",
    };

    /// Nelissen, Berten, Nelis, Goossens and Milojevic 2012.
    pub const NELISSEN: Citation = Citation {
        key: "nelissen2012uedf",
        text: "G. Nelissen, V. Berten, V. Nelis, J. Goossens and D. Milojevic. U-EDF: an unfair but optimal \
               multiprocessor scheduling algorithm for sporadic tasks. 24th Euromicro Conference on Real-Time Systems \
               (ECRTS 2012).",
        bibtex: "@inproceedings{nelissen2012uedf,
  author    = {Geoffrey Nelissen and Vandy Berten and Vincent Nelis and Joel Goossens and Dragomir Milojevic},
  title     = {{U-EDF}: An Unfair But Optimal Multiprocessor Scheduling Algorithm for Sporadic Tasks},
  booktitle = {24th Euromicro Conference on Real-Time Systems (ECRTS)}, year = {2012},
  doi       = {10.1109/ECRTS.2012.36}
}",
    };

    /// Burns, Davis, Wang and Zhang 2012.
    pub const BURNS: Citation = Citation {
        key: "burns2012partitioned",
        text: "A. Burns, R. I. Davis, P. Wang and F. Zhang. Partitioned EDF scheduling for multiprocessors using a C=D \
               task splitting scheme. Real-Time Systems 48(1):3-33, 2012.",
        bibtex: "@article{burns2012partitioned,
  author  = {Alan Burns and Robert I. Davis and P. Wang and F. Zhang},
  title   = {Partitioned {EDF} Scheduling for Multiprocessors using a {C=D} Task Splitting Scheme},
  journal = {Real-Time Systems}, volume = {48}, number = {1}, pages = {3--33}, year = {2012}
}",
    };

    /// Kato, Yamasaki and Ishikawa 2009.
    pub const KATO: Citation = Citation {
        key: "kato2009semipartitioned",
        text: "S. Kato, N. Yamasaki and Y. Ishikawa. Semi-partitioned scheduling of sporadic task systems on \
               multiprocessors. 21st Euromicro Conference on Real-Time Systems (ECRTS 2009). \
               doi:10.1109/ECRTS.2009.22",
        bibtex: "@inproceedings{kato2009semipartitioned,
  author    = {Shinpei Kato and Nobuyuki Yamasaki and Yutaka Ishikawa},
  title     = {Semi-Partitioned Scheduling of Sporadic Task Systems on Multiprocessors},
  booktitle = {21st Euromicro Conference on Real-Time Systems (ECRTS)}, year = {2009},
  doi       = {10.1109/ECRTS.2009.22}
}",
    };

    /// Liu and Layland 1973.
    pub const LIU_LAYLAND: Citation = Citation {
        key: "liu1973scheduling",
        text: "C. L. Liu and J. W. Layland. Scheduling algorithms for multiprogramming in a hard-real-time \
           environment. Journal of the ACM 20(1):46-61, 1973.",
        bibtex: "@article{liu1973scheduling,
  author  = {C. L. Liu and James W. Layland},
  title   = {Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment},
  journal = {Journal of the ACM}, volume = {20}, number = {1}, pages = {46--61}, year = {1973},
  doi     = {10.1145/321738.321743}
}",
    };

    /// Huang, Gill and Lu 2014.
    pub const HUANG: Citation = Citation {
        key: "huang2014implementation",
        text: "H.-M. Huang, C. Gill and C. Lu. Implementation and evaluation of mixed-criticality \
               scheduling approaches for sporadic tasks. ACM Transactions on Embedded Computing Systems \
               13(4s), article 126, 2014.",
        bibtex: "@article{huang2014implementation,
  author  = {Huang-Ming Huang and Christopher Gill and Chenyang Lu},
  title   = {Implementation and Evaluation of Mixed-Criticality Scheduling Approaches for Sporadic Tasks},
  journal = {ACM Transactions on Embedded Computing Systems}, volume = {13}, number = {4s},
  note    = {Article 126}, year = {2014},
  doi     = {10.1145/2584612}
}",
    };

    /// de Niz, Lakshmanan and Rajkumar 2009.
    pub const DE_NIZ: Citation = Citation {
        key: "deniz2009scheduling",
        text: "D. de Niz, K. Lakshmanan and R. Rajkumar. On the scheduling of mixed-criticality real-time task \
               sets. RTSS 2009, pages 291-300.",
        bibtex: "@inproceedings{deniz2009scheduling,
  author    = {Dionisio de Niz and Karthik Lakshmanan and Ragunathan Rajkumar},
  title     = {On the Scheduling of Mixed-Criticality Real-Time Task Sets},
  booktitle = {30th IEEE Real-Time Systems Symposium (RTSS)}, pages = {291--300}, year = {2009}
}",
    };

    /// Baruah, Burns and Davis 2011.
    pub const BARUAH_2011: Citation = Citation {
        key: "baruah2011response",
        text: "S. K. Baruah, A. Burns and R. I. Davis. Response-time analysis for mixed criticality systems. \
               RTSS 2011, pages 34-43.",
        bibtex: "@inproceedings{baruah2011response,
  author    = {Sanjoy K. Baruah and Alan Burns and Robert I. Davis},
  title     = {Response-Time Analysis for Mixed Criticality Systems},
  booktitle = {32nd IEEE Real-Time Systems Symposium (RTSS)}, pages = {34--43}, year = {2011},
  doi       = {10.1109/RTSS.2011.12}
}",
    };

    /// Baruah, Bonifaci, D'Angelo, Li, Marchetti-Spaccamela, van der Ster and Stougie 2012.
    pub const BARUAH_2012: Citation = Citation {
        key: "baruah2012preemptive",
        text: "S. Baruah, V. Bonifaci, G. D'Angelo, H. Li, A. Marchetti-Spaccamela, S. van der Ster and L. \
               Stougie. The preemptive uniprocessor scheduling of mixed-criticality implicit-deadline sporadic task \
               systems. ECRTS 2012, pages 145-154.",
        bibtex: "@inproceedings{baruah2012preemptive,
  author    = {Sanjoy Baruah and Vincenzo Bonifaci and Gianlorenzo D'Angelo and Haohan Li and
               Alberto Marchetti-Spaccamela and Suzanne van der Ster and Leen Stougie},
  title     = {The Preemptive Uniprocessor Scheduling of Mixed-Criticality Implicit-Deadline Sporadic Task Systems},
  booktitle = {24th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {145--154}, year = {2012},
  doi       = {10.1109/ECRTS.2012.42}
}",
    };

    /// Ekberg and Yi 2014.
    pub const EKBERG_YI: Citation = Citation {
        key: "ekberg2014bounding",
        text: "P. Ekberg and W. Yi. Bounding and shaping the demand of generalized mixed-criticality sporadic \
               task systems. Real-Time Systems 50(1):48-86, 2014.",
        bibtex: "@article{ekberg2014bounding,
  author  = {Pontus Ekberg and Wang Yi},
  title   = {Bounding and Shaping the Demand of Generalized Mixed-Criticality Sporadic Task Systems},
  journal = {Real-Time Systems}, volume = {50}, number = {1}, pages = {48--86}, year = {2014}
}",
    };

    /// Bonifaci, Brandenburg, D'Angelo and Marchetti-Spaccamela 2016.
    pub const BONIFACI: Citation = Citation {
        key: "bonifaci2016multiprocessor",
        text: "V. Bonifaci, B. Brandenburg, G. D'Angelo and A. Marchetti-Spaccamela. Multiprocessor \
               real-time scheduling with hierarchical processor affinities. ECRTS 2016, pages 237-247.",
        bibtex: "@inproceedings{bonifaci2016multiprocessor,
  author    = {Vincenzo Bonifaci and Bj{\\\"o}rn Brandenburg and Gianlorenzo D'Angelo and Alberto Marchetti-Spaccamela},
  title     = {Multiprocessor Real-Time Scheduling with Hierarchical Processor Affinities},
  booktitle = {28th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {237--247}, year = {2016},
  doi       = {10.1109/ECRTS.2016.24}
}",
    };

    /// Tang, Anderson and Abeni 2021.
    pub const TANG: Citation = Citation {
        key: "tang2021defectiveness",
        text: "S. Tang, J. H. Anderson and L. Abeni. On the defectiveness of SCHED_DEADLINE w.r.t. \
           tardiness and affinities, and a partial fix. RTNS 2021, 14 pages.",
        bibtex: "@inproceedings{tang2021defectiveness,
  author    = {Stephen Tang and James H. Anderson and Luca Abeni},
  title     = {On the Defectiveness of {SCHED\\_DEADLINE} w.r.t. Tardiness and Affinities, and a
               Partial Fix},
  booktitle = {29th International Conference on Real-Time Networks and Systems (RTNS)},
  year      = {2021}, doi = {10.1145/3453417.3453440}
}",
    };

    /// Gujarati, Cerqueira and Brandenburg 2013.
    pub const GUJARATI: Citation = Citation {
        key: "gujarati2013schedulability",
        text: "A. Gujarati, F. Cerqueira and B. Brandenburg. Schedulability analysis of the Linux push and \
               pull scheduler with arbitrary processor affinities. ECRTS 2013, pages 69-79.",
        bibtex: "@inproceedings{gujarati2013schedulability,
  author    = {Arpan Gujarati and Felipe Cerqueira and Bj{\\\"o}rn B. Brandenburg},
  title     = {Schedulability Analysis of the {Linux} Push and Pull Scheduler with Arbitrary Processor Affinities},
  booktitle = {25th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {69--79}, year = {2013},
  doi       = {10.1109/ECRTS.2013.18}
}",
    };

    /// Regnier, Lima, Massa, Levin and Brandt 2011.
    pub const REGNIER: Citation = Citation {
        key: "regnier2011run",
        text: "P. Regnier, G. Lima, E. Massa, G. Levin and S. Brandt. RUN: optimal multiprocessor real-time \
               scheduling via reduction to uniprocessor. RTSS 2011, pages 104-115.",
        bibtex: "@inproceedings{regnier2011run,
  author    = {Paul Regnier and George Lima and Ernesto Massa and Greg Levin and Scott Brandt},
  title     = {{RUN}: Optimal Multiprocessor Real-Time Scheduling via Reduction to Uniprocessor},
  booktitle = {IEEE 32nd Real-Time Systems Symposium (RTSS)}, pages = {104--115}, year = {2011},
  doi       = {10.1109/RTSS.2011.17}
}",
    };

    /// Massa, Lima, Regnier, Levin and Brandt 2014.
    pub const MASSA: Citation = Citation {
        key: "massa2014qps",
        text: "E. Massa, G. Lima, P. Regnier, G. Levin and S. Brandt. Optimal and adaptive multiprocessor \
           real-time scheduling: the quasi-partitioning approach. ECRTS 2014, pages 291-300.",
        bibtex: "@inproceedings{massa2014qps,
  author    = {Ernesto Massa and George Lima and Paul Regnier and Greg Levin and Scott Brandt},
  title     = {Optimal and Adaptive Multiprocessor Real-Time Scheduling: The Quasi-Partitioning Approach},
  booktitle = {26th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {291--300}, year = {2014}
}",
    };

    /// Abeni and Cucinotta 2020: adaptive partitioning, and its utilization bound.
    pub const ABENI_CUCINOTTA: Citation = Citation {
        key: "abeni2020adaptive",
        text: "L. Abeni and T. Cucinotta. Adaptive partitioning of real-time tasks on multiple processors. \
           35th Annual ACM Symposium on Applied Computing (SAC) 2020, pages 572-579.",
        bibtex: "@inproceedings{abeni2020adaptive,
  author    = {Luca Abeni and Tommaso Cucinotta},
  title     = {Adaptive Partitioning of Real-Time Tasks on Multiple Processors},
  booktitle = {35th Annual ACM Symposium on Applied Computing (SAC)}, pages = {572--579}, year = {2020},
  doi       = {10.1145/3341105.3373937}
}",
    };

    /// Sha, Lehoczky and Rajkumar 1986.
    pub const SHA: Citation = Citation {
        key: "sha1986solutions",
        text: "L. Sha, J. P. Lehoczky and R. Rajkumar. Solutions for some practical problems in prioritized \
           preemptive scheduling. RTSS 1986, pages 181-191.",
        bibtex: "@inproceedings{sha1986solutions,
  author    = {Lui Sha and John P. Lehoczky and Ragunathan Rajkumar},
  title     = {Solutions for Some Practical Problems in Prioritized Preemptive Scheduling},
  booktitle = {7th IEEE Real-Time Systems Symposium (RTSS)}, pages = {181--191}, year = {1986}
}",
    };

    /// Compagnin, Mezzetti and Vardanega 2015.
    pub const COMPAGNIN: Citation = Citation {
        key: "compagnin2015experimental",
        text: "D. Compagnin, E. Mezzetti and T. Vardanega. Experimental evaluation of optimal schedulers \
               based on partitioned proportionate fairness. ECRTS 2015, pages 115-126.",
        bibtex: "@inproceedings{compagnin2015experimental,
  author    = {Davide Compagnin and Enrico Mezzetti and Tullio Vardanega},
  title     = {Experimental Evaluation of Optimal Schedulers Based on Partitioned Proportionate Fairness},
  booktitle = {27th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {115--126}, year = {2015}
}",
    };

    /// Li and Baruah 2010: priorities of jobs, recomputed at run time.
    pub const LI_2010: Citation = Citation {
        key: "li2010algorithm",
        text: "H. Li and S. Baruah. An algorithm for scheduling certifiable mixed-criticality sporadic task \
               systems. RTSS 2010, pages 183-192.",
        bibtex: "@inproceedings{li2010algorithm,
  author    = {Haohan Li and Sanjoy Baruah},
  title     = {An Algorithm for Scheduling Certifiable Mixed-Criticality Sporadic Task Systems},
  booktitle = {31st IEEE Real-Time Systems Symposium (RTSS)}, pages = {183--192}, year = {2010}
}",
    };

    /// Guan, Ekberg, Stigge and Yi 2011.
    pub const GUAN_2011: Citation = Citation {
        key: "guan2011effective",
        text: "N. Guan, P. Ekberg, M. Stigge and W. Yi. Effective and efficient scheduling of certifiable \
               mixed-criticality sporadic task systems. RTSS 2011, pages 13-23.",
        bibtex: "@inproceedings{guan2011effective,
  author    = {Nan Guan and Pontus Ekberg and Martin Stigge and Wang Yi},
  title     = {Effective and Efficient Scheduling of Certifiable Mixed-Criticality Sporadic Task Systems},
  booktitle = {IEEE 32nd Real-Time Systems Symposium (RTSS)}, pages = {13--23}, year = {2011}
}",
    };

    /// Jeffay, Stanat and Martel 1991: non-preemptive EDF.
    pub const JEFFAY: Citation = Citation {
        key: "jeffay1991nonpreemptive",
        text: "K. Jeffay, D. F. Stanat and C. U. Martel. On non-preemptive scheduling of period and sporadic tasks. \
               RTSS 1991, pages 129-139.",
        bibtex: "@inproceedings{jeffay1991nonpreemptive,
  author    = {Kevin Jeffay and Donald F. Stanat and Charles U. Martel},
  title     = {On Non-Preemptive Scheduling of Period and Sporadic Tasks},
  booktitle = {12th Real-Time Systems Symposium (RTSS)}, pages = {129--139}, year = {1991},
  doi       = {10.1109/REAL.1991.160366}
}",
    };

    /// George, Rivierre and Spuri 1996: preemptive and non-preemptive scheduling on one CPU.
    pub const GEORGE: Citation = Citation {
        key: "george1996preemptive",
        text: "L. George, N. Rivierre and M. Spuri. Preemptive and non-preemptive real-time uniprocessor scheduling. \
               Research report RR-2966, INRIA, 1996.",
        bibtex: "@techreport{george1996preemptive,
  author      = {Laurent George and Nicolas Rivierre and Marco Spuri},
  title       = {Preemptive and Non-Preemptive Real-Time Uniprocessor Scheduling},
  institution = {INRIA}, number = {RR-2966}, year = {1996}
}",
    };

    /// Davis, Burns, Bril and Lukkien 2007: the Controller Area Network, non-preemptive fixed priorities.
    pub const DAVIS_CAN: Citation = Citation {
        key: "davis2007controller",
        text: "R. I. Davis, A. Burns, R. J. Bril and J. J. Lukkien. Controller Area Network (CAN) schedulability \
               analysis: refuted, revisited and revised. Real-Time Systems 35(3):239-272, 2007.",
        bibtex: "@article{davis2007controller,
  author  = {Robert I. Davis and Alan Burns and Reinder J. Bril and Johan J. Lukkien},
  title   = {Controller Area Network ({CAN}) Schedulability Analysis: Refuted, Revisited and Revised},
  journal = {Real-Time Systems}, volume = {35}, number = {3}, pages = {239--272}, year = {2007},
  doi     = {10.1007/s11241-007-9012-7}
}",
    };

    /// Bril, Lukkien and Verhaegh 2009: fixed priorities with deferred preemption.
    pub const BRIL: Citation = Citation {
        key: "bril2009worst",
        text: "R. J. Bril, J. J. Lukkien and W. F. J. Verhaegh. Worst-case response time analysis of real-time tasks \
               under fixed-priority scheduling with deferred preemption. Real-Time Systems 42:63-119, 2009.",
        bibtex: "@article{bril2009worst,
  author  = {Reinder J. Bril and Johan J. Lukkien and Wim F. J. Verhaegh},
  title   = {Worst-Case Response Time Analysis of Real-Time Tasks under Fixed-Priority Scheduling with Deferred
             Preemption},
  journal = {Real-Time Systems}, volume = {42}, pages = {63--119}, year = {2009},
  doi     = {10.1007/s11241-009-9071-z}
}",
    };

    /// Baruah 2005: floating non-preemptive regions under EDF.
    pub const BARUAH_LIMITED: Citation = Citation {
        key: "baruah2005limited",
        text: "S. Baruah. The limited-preemption uniprocessor scheduling of sporadic task systems. ECRTS 2005, pages \
               137-144.",
        bibtex: "@inproceedings{baruah2005limited,
  author    = {Sanjoy Baruah},
  title     = {The Limited-Preemption Uniprocessor Scheduling of Sporadic Task Systems},
  booktitle = {17th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {137--144}, year = {2005}
}",
    };

    /// Buttazzo, Bertogna and Yao 2013: a survey of limited preemption.
    pub const BUTTAZZO: Citation = Citation {
        key: "buttazzo2013limited",
        text: "G. C. Buttazzo, M. Bertogna and G. Yao. Limited preemptive scheduling for real-time systems: a survey. \
               IEEE Transactions on Industrial Informatics 9(1):3-15, 2013.",
        bibtex: "@article{buttazzo2013limited,
  author  = {Giorgio C. Buttazzo and Marko Bertogna and Gang Yao},
  title   = {Limited Preemptive Scheduling for Real-Time Systems. A Survey},
  journal = {IEEE Transactions on Industrial Informatics}, volume = {9}, number = {1}, pages = {3--15}, year = {2013},
  doi     = {10.1109/TII.2012.2188805}
}",
    };

    /// Sha, Rajkumar and Lehoczky 1990.
    pub const SHA_RAJKUMAR: Citation = Citation {
        key: "sha1990priority",
        text: "L. Sha, R. Rajkumar and J. P. Lehoczky. Priority inheritance protocols: an approach to real-time \
               synchronization. IEEE Transactions on Computers 39(9):1175-1185, 1990.",
        bibtex: "@article{sha1990priority,
  author  = {Lui Sha and Ragunathan Rajkumar and John P. Lehoczky},
  title   = {Priority Inheritance Protocols: An Approach to Real-Time Synchronization},
  journal = {IEEE Transactions on Computers}, volume = {39}, number = {9}, pages = {1175--1185}, year = {1990},
  doi     = {10.1109/12.57058}
}",
    };
}
