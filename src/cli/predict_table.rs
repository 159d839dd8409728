//! A forecast as CSV.

use std::fmt::Write;

use crate::pipeline::Error;

/// One quantity of a forecast.
pub(super) struct Column<'a> {
    pub name: &'a str,
    /// `[T]`.
    pub values: Vec<f64>,
    /// Ends of each band `[T]`, with what stands between the name of the quantity and that of the end.
    pub bands: Vec<(&'static str, Vec<(f64, f64)>)>,
}

/// A row of each time. An end of a band that is unknown is empty, and the last column says why.
///
/// # Errors
/// If two columns would have the same name.
pub(super) fn csv(times: &[f64], columns: &[Column], unknown: Option<&str>) -> Result<String, Error> {
    let mut header = vec![("time".to_owned(), "the times".to_owned())];
    for Column { name, bands, .. } in columns {
        let of_bands = bands.iter().flat_map(|(what, _)| ["_lower", "_upper"].map(|end| format!("{name}{what}{end}")));
        header.extend(std::iter::once((*name).to_owned()).chain(of_bands).map(|column| (column, format!("`{name}`"))));
    }
    header.push(("reason".to_owned(), "why a band is unknown".to_owned()));
    for (place, (column, maker)) in header.iter().enumerate() {
        if let Some((_, first)) = header[..place].iter().find(|it| it.0 == *column) {
            return Err(Error::Usage(format!(
                "predict: found the column `{column}` of the table twice, for {first} and for {maker}; expected distinct names; take --json, or \
                 rename one of them"
            )));
        }
    }
    let mut text = header.iter().map(|it| it.0.as_str()).collect::<Vec<_>>().join(",");
    text.push('\n');
    let reason = format!("\"{}\"", unknown.unwrap_or_default().replace('"', "\"\""));
    for (t, time) in times.iter().enumerate() {
        let _ = write!(text, "{time}");
        let mut is_known = true;
        for Column { values, bands, .. } in columns {
            let _ = write!(text, ",{}", values[t]);
            for end in bands.iter().flat_map(|(_, ends)| [ends[t].0, ends[t].1]) {
                text.push(',');
                is_known &= !end.is_nan();
                if !end.is_nan() {
                    let _ = write!(text, "{end}");
                }
            }
        }
        let _ = writeln!(text, ",{}", if is_known { "" } else { &reason });
    }
    Ok(text)
}

/// That some bands are unknown.
pub(super) fn warning(reason: &str) -> String {
    format!("warning: bands are unknown where they are empty: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_band_is_empty_and_says_why() {
        let x = Column {
            name: "x",
            values: vec![1.0, 2.0],
            bands: vec![("", vec![(0.5, 1.5), (f64::NAN, f64::NAN)]), ("_measured", vec![(0.0, 2.0), (1.0, 3.0)])],
        };
        let y = Column { name: "y", values: vec![5.0, 6.0], bands: Vec::new() };
        assert_eq!(
            csv(&[0.0, 0.5], &[x, y], Some("k of \"a\", and b")).unwrap(),
            "time,x,x_lower,x_upper,x_measured_lower,x_measured_upper,y,reason\n\
             0,1,0.5,1.5,0,2,5,\n\
             0.5,2,,,1,3,6,\"k of \"\"a\"\", and b\"\n"
        );
    }

    #[test]
    fn two_columns_of_one_name_are_refused_and_both_named() {
        let column = |name| Column { name, values: vec![1.0], bands: vec![("", vec![(0.0, 2.0)])] };
        for (names, expected) in [
            (["x", "x_lower"], "the column `x_lower` of the table twice, for `x` and for `x_lower`"),
            (["x", "reason"], "the column `reason` of the table twice, for `reason` and for why a band is unknown"),
            (["time", "x"], "the column `time` of the table twice, for the times and for `time`"),
        ] {
            let said = csv(&[0.0], &names.map(column), None).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }
}
