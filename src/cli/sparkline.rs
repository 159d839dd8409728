//! A curve in one line of text.

/// Heights of a column, from the least.
const COLUMNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `values` over their order in at most `width` columns, on a logarithmic scale from the least to the greatest. A column that stands for several is
/// their geometric mean; one without a positive, finite value is empty.
pub(crate) fn sparkline(values: &[f64], width: usize) -> String {
    let columns = values.len().min(width);
    let logarithm = |column: usize| {
        let of_column = &values[column * values.len() / columns..(column + 1) * values.len() / columns];
        let sound: Vec<f64> =
            of_column.iter().filter(|it| it.is_finite() && **it > 0.0).map(|value| value.ln()).collect();
        (!sound.is_empty()).then(|| sound.iter().sum::<f64>() / sound.len() as f64)
    };
    let logarithms: Vec<Option<f64>> = (0..columns).map(logarithm).collect();
    let sound = || logarithms.iter().flatten().copied();
    let (least, greatest) = (sound().fold(f64::INFINITY, f64::min), sound().fold(f64::NEG_INFINITY, f64::max));
    let height = |value: f64| match greatest - least {
        span if span > 0.0 => ((value - least) / span * (COLUMNS.len() - 1) as f64).round() as usize,
        _ => 0,
    };
    logarithms.iter().map(|it| it.map_or(' ', |value| COLUMNS[height(value)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_factors_are_equal_heights() {
        let values: Vec<f64> = (0..8).map(|power| 10f64.powi(-power)).collect();
        assert_eq!(sparkline(&values, 20), "█▇▆▅▄▃▂▁");
        assert_eq!(sparkline(&[1e-9, 1.0], 20), "▁█");
    }

    #[test]
    fn many_values_share_columns() {
        let values: Vec<f64> = (0..1000).map(|i| 10f64.powi(-(i / 125))).collect();
        assert_eq!(sparkline(&values, 8), "█▇▆▅▄▃▂▁");
        assert_eq!(sparkline(&values, 20).chars().count(), 20);
    }

    #[test]
    fn what_is_no_loss_leaves_a_gap() {
        assert_eq!(sparkline(&[1.0, f64::NAN, 0.0, f64::INFINITY, 1e-3], 20), "█   ▁");
        assert_eq!(sparkline(&[2.0, 2.0], 20), "▁▁");
        assert_eq!(sparkline(&[f64::NAN], 20), " ");
        assert_eq!(sparkline(&[], 20), "");
    }
}
