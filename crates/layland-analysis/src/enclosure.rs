//! Enclosures of irrational numbers between two rationals.

use layland_model::Rate;

/// A real number that is known to lie between two rationals, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosure {
    /// The lower end; at most the number.
    pub low: Rate,
    /// The upper end; at least the number.
    pub high: Rate,
}

impl Enclosure {
    /// Returns the number rounded half up to this many decimals (at most 9), if the enclosure is
    /// narrow enough to determine it. For numbers from 0 to 10^9.
    ///
    /// ```
    /// use layland_analysis::Enclosure;
    /// use layland_model::Rate;
    /// let [low, high] = ["1.41421356237", "1.41421356238"].map(|text| text.parse().unwrap());
    /// let root = Enclosure { low, high };
    /// assert_eq!(root.decimals(9).as_deref(), Some("1.414213562"));
    /// ```
    pub fn decimals(&self, count: u32) -> Option<String> {
        let scale = 10i64.checked_pow(count)?;
        let round = |rate: &Rate| {
            (&(rate * &Rate::whole(scale)) + &Rate::new(1, 2)).floor().filter(|ns| *ns >= 0)
        };
        let (low, high) = (round(&self.low)?, round(&self.high)?);
        let width = count as usize;
        let (whole, part) = (low / scale, low % scale);
        let text = if width == 0 { whole.to_string() } else { format!("{whole}.{part:0width$}") };
        (low == high).then_some(text)
    }
}
