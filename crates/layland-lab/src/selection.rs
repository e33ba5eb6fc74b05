//! Selects parts of an experiment and extends it: for programs that run some of its points, or
//! their own policy beside its series.
//!
//! The measurements of a point depend only on its parameters and the seed, so a part has the same
//! rows as the whole.

use crate::experiment::Experiment;
use crate::series::{Measured, Series};
use layland_model::Rate;
use layland_policy::Registry;

impl Experiment {
    /// Keeps the points with one of these values of an axis. Grids without the axis do not change,
    /// and a grid that has none of the values is left without points.
    ///
    /// # Errors
    /// Returns an error if no grid has the axis, or if a value is in none of them.
    ///
    /// ```
    /// let mut experiment = layland_lab::packaged::find("stevanato2021").unwrap().experiment();
    /// experiment.keep_points("utilization", &["7.20".to_owned()]).unwrap();
    /// assert_eq!(experiment.grids[0].cells().len(), 1);
    /// assert!(experiment.keep_points("speed", &["1".to_owned()]).is_err());
    /// ```
    pub fn keep_points(&mut self, axis: &str, values: &[String]) -> Result<(), String> {
        let has = |grid: &crate::Grid| grid.axes.iter().any(|(name, _)| name == axis);
        if !self.grids.iter().any(has) {
            let axes = self.grids.iter().flat_map(|grid| grid.axes.iter().map(|(name, _)| name));
            return Err(format!("no grid has an axis `{axis}`: there are {}", listed(axes)));
        }
        let is_meant = |own: &str| values.iter().any(|value| is_same(own, value));
        let of_axis = || self.grids.iter().flat_map(|grid| &grid.axes).filter(|(n, _)| n == axis);
        for value in values {
            if !of_axis().any(|(_, own)| own.iter().any(|own| is_same(own, value))) {
                let known = listed(of_axis().flat_map(|(_, own)| own));
                return Err(format!("no point has {axis} {value}: there are {known}"));
            }
        }
        for (name, own) in self.grids.iter_mut().flat_map(|grid| &mut grid.axes) {
            if name == axis {
                own.retain(|own| is_meant(own));
            }
        }
        Ok(())
    }

    /// Keeps the series with these names.
    ///
    /// # Errors
    /// Returns an error if there is no series with one of the names.
    pub fn keep_series(&mut self, names: &[String]) -> Result<(), String> {
        if let Some(name) = names.iter().find(|&name| self.series.iter().all(|s| s.name != *name)) {
            let known = listed(self.series.iter().map(|series| &series.name));
            return Err(format!("there is no series `{name}`: there are {known}"));
        }
        let all = &self.series;
        let is_meant = |at: &usize| names.contains(&all[*at].name);
        self.grids.iter_mut().for_each(|grid| grid.series.retain(is_meant));
        self.figures.iter_mut().for_each(|figure| figure.series.retain(is_meant));
        self.tables.iter_mut().for_each(|table| table.series.retain(is_meant));
        Ok(())
    }

    /// Adds a policy as a series to every grid that simulates policies, and to its figures and tables.
    ///
    /// # Errors
    /// Returns an error if the name is taken, the policy does not exist, or the experiment
    /// simulates no policies.
    ///
    /// ```
    /// use layland_policy::Registry;
    /// let mut experiment = layland_lab::packaged::find("tang2021").unwrap().experiment();
    /// experiment.add_policy("mine", "EDZL", "edzl", &Registry::standard()).unwrap();
    /// assert!(experiment.grids.iter().all(|grid| grid.series.len() == 3));
    /// ```
    pub fn add_policy(
        &mut self,
        name: &str,
        label: &str,
        spec: &str,
        registry: &Registry,
    ) -> Result<(), String> {
        let spec = registry.canonical(spec).map_err(|error| error.to_string())?;
        if self.series.iter().any(|series| series.name == name) {
            return Err(format!("there is a series `{name}` already"));
        }
        let all = &self.series;
        let is_simulated = |at: &usize| matches!(all[*at].measured, Measured::Policy(_));
        let at = all.len();
        let grids: Vec<bool> =
            self.grids.iter().map(|grid| grid.series.iter().any(is_simulated)).collect();
        if !grids.contains(&true) {
            return Err("it simulates no policy".to_owned());
        }
        let is_drawn =
            |grid: usize, series: &[usize]| grids[grid] && series.iter().any(is_simulated);
        for figure in &mut self.figures {
            if is_drawn(figure.grid, &figure.series) {
                figure.series.push(at);
            }
        }
        for table in &mut self.tables {
            if is_drawn(table.grid, &table.series) {
                table.series.push(at);
            }
        }
        let simulating = self.grids.iter_mut().zip(&grids).filter(|(_, simulates)| **simulates);
        simulating.for_each(|(grid, _)| grid.series.push(at));
        self.series.push(Series {
            name: name.to_owned(),
            label: label.to_owned(),
            measured: Measured::Policy(spec),
            bound: None,
            ignores_affinities: false,
            ignores_regions: false,
            overheads: None,
        });
        Ok(())
    }
}

/// Returns true if two values of a parameter are equal: as numbers, if both are numbers.
fn is_same(a: &str, b: &str) -> bool {
    match (a.parse::<Rate>(), b.parse::<Rate>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Lists each name once, in the order of first occurrence.
fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let mut once: Vec<&str> = Vec::new();
    names.for_each(|name| {
        if !once.contains(&name.as_str()) {
            once.push(name);
        }
    });
    once.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packaged;

    fn stevanato() -> Experiment {
        packaged::find("stevanato2021").unwrap().experiment()
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn points_are_kept_by_their_value() {
        let mut experiment = stevanato();
        experiment.keep_points("utilization", &texts(&["6.4", "36/5"])).unwrap();
        assert_eq!(experiment.grids[0].axes[0].1, ["6.4", "7.2"]);
        // A grid with another axis, and a grid with another range of this axis.
        assert_eq!(experiment.grids[1].cells().len(), 11);
        assert!(experiment.grids[2].cells().is_empty());
        let error = experiment.keep_points("utilization", &texts(&["6.4", "9"])).unwrap_err();
        assert_eq!(error, "no point has utilization 9: there are 6.4, 7.2");
    }

    #[test]
    fn series_are_kept_by_their_name() {
        let mut experiment = stevanato();
        experiment.keep_series(&texts(&["apedf"])).unwrap();
        assert_eq!(experiment.grids[0].series, [1]);
        assert_eq!(experiment.figures[0].series, [1]);
        let error = experiment.keep_series(&texts(&["edf"])).unwrap_err();
        assert!(error.starts_with("there is no series `edf`: there are g-edf, apedf"), "{error}");
    }

    #[test]
    fn a_policy_is_added_where_policies_are_simulated() {
        let registry = Registry::standard();
        let mut experiment = stevanato();
        assert!(experiment.add_policy("g-edf", "", "g-edf", &registry).is_err());
        assert!(experiment.add_policy("mine", "", "no-such", &registry).is_err());
        experiment.add_policy("mine", "Mine", "g-edf", &registry).unwrap();
        let at = experiment.series.len() - 1;
        assert!(experiment.figures.iter().all(|figure| figure.series.contains(&at)));
        let mut tests = packaged::find("huang2014").unwrap().experiment();
        tests.grids.retain(|grid| grid.name == "1");
        tests.figures.clear();
        assert!(tests.add_policy("mine", "Mine", "g-edf", &registry).is_err());
    }
}
