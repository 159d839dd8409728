//! Colours that mean something, made in OKLab so that equal steps of a value look like equal steps of colour.
//!
//! From OKLab `(L, a, b)` to linear sRGB (B. Ottosson, "A perceptual color space for image processing", 2020):
//! `l' = L + 0.3963377774 a + 0.2158037573 b`, `m' = L - 0.1055613458 a - 0.0638541728 b`,
//! `s' = L - 0.0894841775 a - 1.2914855480 b`; cube each; `rgb = M (l, m, s)`. All are dimensionless, `L` in `[0, 1]`.

/// An sRGB colour, 8 bits a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// `#rrggbb`.
    pub(crate) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Linear sRGB, unclipped.
fn linear(lightness: f64, a: f64, b: f64) -> [f64; 3] {
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
}

fn encode(linear: f64) -> u8 {
    let linear = linear.clamp(0.0, 1.0);
    let encoded = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    (encoded * 255.0).round() as u8
}

/// The colour of lightness `L`, hue in degrees, and the chroma nearest to `chroma` that a screen can show.
fn lch(lightness: f64, chroma: f64, hue: f64) -> Rgb {
    let (sine, cosine) = hue.to_radians().sin_cos();
    let mut chroma = chroma;
    loop {
        let rgb = linear(lightness, chroma * cosine, chroma * sine);
        if chroma <= 0.0 || rgb.iter().all(|channel| (-1e-4..=1.0001).contains(channel)) {
            return Rgb(encode(rgb[0]), encode(rgb[1]), encode(rgb[2]));
        }
        chroma = (chroma - 0.002).max(0.0);
    }
}

/// A sequential map of `[0, 1]`: from deep violet through teal to light yellow.
///
/// Lightness rises linearly, so the order survives every kind of colour blindness and a grey print.
pub(crate) fn sequential(fraction: f64) -> Rgb {
    let t = fraction.clamp(0.0, 1.0);
    lch(0.27 + 0.66 * t, 0.10 + 0.05 * t, 300.0 - 200.0 * t)
}

/// A map of the unit square: the first coordinate turns the hue, the second raises the lightness.
pub(crate) fn plane(first: f64, second: f64) -> Rgb {
    let (u, v) = (first.clamp(0.0, 1.0), second.clamp(0.0, 1.0));
    lch(0.48 + 0.34 * v, 0.14, 270.0 + 140.0 * u)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: Rgb) -> f64 {
        let decode = |byte: u8| {
            let c = f64::from(byte) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * decode(colour.0) + 0.7152 * decode(colour.1) + 0.0722 * decode(colour.2)
    }

    #[test]
    fn white_grey_and_black_are_themselves() {
        assert_eq!(lch(1.0, 0.0, 0.0), Rgb(255, 255, 255));
        assert_eq!(lch(0.0, 0.0, 0.0), Rgb(0, 0, 0));
    }

    #[test]
    fn luminance_of_the_sequential_map_rises() {
        let luminances: Vec<f64> = (0..=50).map(|i| luminance(sequential(f64::from(i) / 50.0))).collect();
        assert!(luminances.windows(2).all(|pair| pair[1] > pair[0]), "{luminances:?}");
    }
}
