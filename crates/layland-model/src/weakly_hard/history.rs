//! The state of a task in its constraint, as policies for weakly hard tasks use it.

use super::{HitOrMiss, WeaklyHard};

impl WeaklyHard {
    /// The number of misses in a row, from now on, after which the constraint is broken; 0 if it is
    /// broken already (*distance-based priority*, Hamdaoui and Ramanathan 1995). `recent` has the
    /// outcomes so far, the newest last; before them, all jobs were in time. An undecided job counts
    /// as a miss.
    ///
    /// It is `k - l + 1`, where `l` is the position of the `m`-th newest hit, and the newest job has
    /// position 1.
    ///
    /// ```
    /// use layland_model::{HitOrMiss, WeaklyHard};
    /// let recent = HitOrMiss::word("MHHMHHHM").unwrap();
    /// assert_eq!(WeaklyHard::new(3, 7).unwrap().distance_to_failure(&recent), 4);
    /// ```
    pub fn distance_to_failure(self, recent: &[HitOrMiss]) -> u32 {
        let mut hits = 0;
        for position in 1..=self.window {
            let job = recent.len().checked_sub(position as usize);
            hits += u32::from(job.is_none_or(|job| recent[job] == HitOrMiss::Hit));
            if hits >= self.hits {
                return self.window - position + 1;
            }
        }
        0
    }

    /// The class of the next job in *job-class-level* scheduling (Choi, Kim and Zhu 2019): 0 if none
    /// of the last `w = max(floor(k / m) - 1, 1)` jobs was in time, and otherwise the length of the
    /// run of hits that ends at the newest one, at most `m`. Before the first job there is no hit.
    ///
    /// ```
    /// use layland_model::{HitOrMiss, WeaklyHard};
    /// let recent = HitOrMiss::word("HMHHHM").unwrap();
    /// assert_eq!(WeaklyHard::new(2, 8).unwrap().job_class(&recent), 2);
    /// ```
    pub fn job_class(self, recent: &[HitOrMiss]) -> u32 {
        let Some(share) = self.window.checked_div(self.hits) else { return 0 };
        let w = share.saturating_sub(1).max(1) as usize;
        let is_hit = |outcome: &HitOrMiss| *outcome == HitOrMiss::Hit;
        let Some(misses) = recent.iter().rev().take(w).position(is_hit) else { return 0 };
        let run = recent.iter().rev().skip(misses).take(self.hits as usize);
        run.take_while(|outcome| is_hit(outcome)).count() as u32
    }
}
