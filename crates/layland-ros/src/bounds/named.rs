//! Titles, descriptions and citations of the analyses.

use super::Analysis;
use layland_model::Citation;

/// Casini et al. 2019.
pub const CASINI: Citation = Citation {
    key: "casini2019response",
    text: "D. Casini, T. Blaß, I. Lütkebohle and B. B. Brandenburg. Response-time analysis of ROS 2 processing chains \
           under reservation-based scheduling. 31st Euromicro Conference on Real-Time Systems (ECRTS 2019), LIPIcs \
           133, pages 6:1-6:23. doi:10.4230/LIPIcs.ECRTS.2019.6",
    bibtex: "@inproceedings{casini2019response,
  author    = {Daniel Casini and Tobias Bla{\\ss} and Ingo L{\\\"u}tkebohle and Bj{\\\"o}rn B. Brandenburg},
  title     = {Response-Time Analysis of {ROS} 2 Processing Chains under Reservation-Based Scheduling},
  booktitle = {31st Euromicro Conference on Real-Time Systems (ECRTS)}, series = {LIPIcs}, volume = {133},
  pages     = {6:1--6:23}, year = {2019}, doi = {10.4230/LIPIcs.ECRTS.2019.6}
}",
};

/// Blass et al. 2021.
pub const BLASS: Citation = Citation {
    key: "blass2021ros",
    text: "T. Blaß, D. Casini, S. Bozhko and B. B. Brandenburg. A ROS 2 response-time analysis exploiting starvation \
           freedom and execution-time variance. 42nd IEEE Real-Time Systems Symposium (RTSS 2021), pages 41-53. \
           doi:10.1109/RTSS52674.2021.00016",
    bibtex: "@inproceedings{blass2021ros,
  author    = {Tobias Bla{\\ss} and Daniel Casini and Sergey Bozhko and Bj{\\\"o}rn B. Brandenburg},
  title     = {A {ROS} 2 Response-Time Analysis Exploiting Starvation Freedom and Execution-Time Variance},
  booktitle = {42nd IEEE Real-Time Systems Symposium (RTSS)}, pages = {41--53}, year = {2021},
  doi       = {10.1109/RTSS52674.2021.00016}
}",
};

/// Bedarkar et al. 2022.
pub const BEDARKAR: Citation = Citation {
    key: "bedarkar2022intuition",
    text: "K. Bedarkar, M. Vardishvili, S. Bozhko, M. Maida and B. B. Brandenburg. From intuition to Coq: a case study \
           in verified response-time analysis of FIFO scheduling. 43rd IEEE Real-Time Systems Symposium (RTSS 2022), \
           pages 197-210.",
    bibtex: "@inproceedings{bedarkar2022intuition,
  author    = {Kimaya Bedarkar and Mariam Vardishvili and Sergey Bozhko and Marco Maida and Bj{\\\"o}rn B. Brandenburg},
  title     = {From Intuition to {Coq}: A Case Study in Verified Response-Time Analysis of {FIFO} Scheduling},
  booktitle = {43rd IEEE Real-Time Systems Symposium (RTSS)}, pages = {197--210}, year = {2022}
}",
};

impl Analysis {
    /// All analyses.
    pub const ALL: [Analysis; 6] = [
        Analysis::CasiniTimer,
        Analysis::CasiniPolled,
        Analysis::CasiniChain,
        Analysis::RoundRobin,
        Analysis::BusyWindow,
        Analysis::Fifo,
    ];

    /// The title, in one line.
    pub const fn title(self) -> &'static str {
        match self {
            Analysis::CasiniTimer => "response times of live timers of a ROS 2 executor",
            Analysis::CasiniPolled => "response times of callbacks that wait for polling points",
            Analysis::CasiniChain => {
                "response times of callbacks that others activate, by the latency of the chain"
            }
            Analysis::RoundRobin => {
                "response times, where each callback runs once between polling points"
            }
            Analysis::BusyWindow => {
                "response times, where each callback runs once between polling points, in a busy window"
            }
            Analysis::Fifo => "response times in a queue in the order of activation",
        }
    }

    /// The description of the bound and its conditions, in sentences. Every analysis also assumes
    /// that WCETs, arrivals and supply hold, and one thread.
    pub const fn text(self) -> &'static str {
        match self {
            Analysis::CasiniTimer => {
                "The timers before it, and one callback that has begun. It is for the default executor with live timers."
            }
            Analysis::CasiniPolled => {
                "All activations in a busy window come before it, as under every executor with one thread that \
                 runs callbacks to their ends. It does not use that a callback runs at most once between two polling \
                 points."
            }
            Analysis::CasiniChain => {
                "As casini-polled, with the other callbacks of its chain, for a chain inside of one executor. The latency \
                 of its longest chain stands for the response of the callback."
            }
            Analysis::RoundRobin => {
                "Between two polling points a polled callback runs at most once (Theorem 2), from bounds on all responses \
                 that are improved in circles. It is for the default executor with live timers, where no callback \
                 activates another."
            }
            Analysis::BusyWindow => {
                "As rr, and what comes before the job arrives in its busy window (Theorem 3). It assumes what rr does."
            }
            Analysis::Fifo => {
                "One bound for all callbacks of `events-fifo`, where no callback activates another: all that arrived \
                 before a job, within what the thread is supplied with. The article has a CPU where this has a supply."
            }
        }
    }

    /// The papers to cite.
    pub const fn citations(self) -> &'static [&'static Citation] {
        match self {
            Analysis::CasiniTimer | Analysis::CasiniPolled | Analysis::CasiniChain => &[&CASINI],
            Analysis::RoundRobin | Analysis::BusyWindow => &[&BLASS],
            Analysis::Fifo => &[&BEDARKAR],
        }
    }
}
