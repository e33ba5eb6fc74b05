//! The assignment problem: assigns each row of a table a column of its own such that the sum of the
//! chosen entries is largest (Kuhn 1955, Munkres 1957; shortest augmenting paths with potentials).

/// Returns the largest sum of entries of which no two share a row or a column. All rows have the
/// same length, and entries are not negative. Takes `rows^2 * columns` or `rows * columns^2` steps,
/// whichever is less.
///
/// ```
/// use layland_analysis::locking::largest_assignment;
/// // 5 of the first row leaves 1 of the second; 4 and 5 are more.
/// assert_eq!(largest_assignment(&[vec![5, 4], vec![5, 1]]), 9);
/// assert_eq!(largest_assignment(&[vec![2, 7, 3]]), 7);
/// assert_eq!(largest_assignment(&[]), 0);
/// ```
pub fn largest_assignment(table: &[Vec<i64>]) -> i64 {
    let (rows, columns) = (table.len(), table.first().map_or(0, Vec::len));
    if rows > columns {
        let column = |at: usize| table.iter().map(|row| row[at]).collect();
        return largest_assignment(&(0..columns).map(column).collect::<Vec<_>>());
    }
    // Every row gets a partner, since there are enough columns and no entry is negative. Row and
    // column 0 are sentinels.
    let cost = |row: usize, column: usize| -i128::from(table[row - 1][column - 1]);
    let (mut of_row, mut of_column) = (vec![0i128; rows + 1], vec![0i128; columns + 1]);
    let mut partner = vec![0usize; columns + 1];
    for row in 1..=rows {
        partner[0] = row;
        let (mut least, mut from) = (vec![i128::MAX; columns + 1], vec![0usize; columns + 1]);
        let mut done = vec![false; columns + 1];
        let mut at = 0;
        // Find the cheapest path from the row to a column without a partner.
        while partner[at] != 0 {
            done[at] = true;
            let (here, mut step, mut next) = (partner[at], i128::MAX, 0);
            for column in (1..=columns).filter(|&column| !done[column]) {
                let reduced = cost(here, column) - of_row[here] - of_column[column];
                if reduced < least[column] {
                    (least[column], from[column]) = (reduced, at);
                }
                if least[column] < step {
                    (step, next) = (least[column], column);
                }
            }
            for column in 0..=columns {
                if done[column] {
                    of_row[partner[column]] += step;
                    of_column[column] -= step;
                } else if column > 0 {
                    least[column] -= step;
                }
            }
            at = next;
        }
        while at != 0 {
            partner[at] = partner[from[at]];
            at = from[at];
        }
    }
    let pairs = (1..=columns).filter(|&column| partner[column] != 0);
    let sum: i128 = pairs.map(|column| -cost(partner[column], column)).sum();
    i64::try_from(sum).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::largest_assignment;
    use crate::sporadic::random;

    /// Tries every way to give the rows from this one on a free column, or none.
    fn slow(table: &[Vec<i64>], taken: u32) -> i64 {
        let Some((first, rest)) = table.split_first() else { return 0 };
        let free = (0..first.len()).filter(|column| taken & (1 << column) == 0);
        let with = free.map(|column| first[column] + slow(rest, taken | (1 << column)));
        with.max().unwrap_or(0).max(slow(rest, taken))
    }

    #[test]
    fn the_largest_assignment_is_the_largest_of_all() {
        let mut draw = random(11);
        for _ in 0..3_000 {
            let (rows, columns) = (draw(6), draw(6));
            let most = 1 + draw(12);
            let mut row = || (0..columns).map(|_| draw(most) as i64).collect::<Vec<_>>();
            let table: Vec<Vec<i64>> = (0..rows).map(|_| row()).collect();
            assert_eq!(largest_assignment(&table), slow(&table, 0), "{table:?}");
        }
    }
}
