//! The vector field of a library at the points of a state, with its tangents, and its transpose.
//!
//! A point is one of a grid, or without space a trajectory: points know each other only through the features. With `A` the linear map to features and `G_cf = d g_c / d f_f` at each point, a tangent is `dg = G A dx + (what the weights' own
//! direction gives)`. Points are taken in tiles that stay in the cache.

use super::features::{Features, Scratch};
use crate::models::{Library, Model};

/// Points of a tile.
pub(super) const TILE: usize = 64;

/// A library with weights.
pub(super) struct VectorField<'a> {
    pub library: &'a Library,
    pub features: &'a Features,
    /// `N`.
    pub points: usize,
    /// Waves over the place `[4, N]`, where they are features.
    pub waves: &'a [f64],
    /// `[P]`.
    pub weights: &'a [f64],
}

/// A direction in the space of the weights: index and value of what is not zero.
pub(super) type Direction = Vec<(usize, f64)>;

/// Buffers of one thread.
pub(super) struct Buffers {
    scratch: Option<Scratch>,
    /// `[1 + T, D, N]`.
    features: Vec<f64>,
    /// Cotangents of features `[D, N]`.
    cotangents: Vec<f64>,
    tile: Tile,
}

/// What the stages of a rollout give to the gradients of several outputs, stage after stage, the last one first.
#[derive(Default)]
pub(super) struct Stages {
    /// Products `[.., M, N]`.
    pub products: Vec<f64>,
    /// Cotangents of the rates, of each output `[.., K, C, N]`.
    pub cotangents: Vec<f64>,
    /// `1 / D [.., N]`, of a library with a denominator; so are the others.
    pub inverse: Vec<f64>,
    /// `[.., C, N]`.
    pub numerators: Vec<f64>,
    /// `|x_j|^S [.., C, N]`.
    pub powers: Vec<f64>,
}

/// What is known of the points of a tile; each row is of `TILE` values.
struct Tile {
    /// All features `[F]`.
    features: Vec<f64>,
    /// Products `[M]`.
    products: Vec<f64>,
    /// Adjoints of the products `[M]`.
    adjoints: Vec<f64>,
    /// `G [C, D]`.
    slopes: Vec<f64>,
    /// `sum_m rho_cm phi_m [C]`, of a library with a denominator.
    numerators: Vec<f64>,
    /// `1 / D`.
    inverse: Vec<f64>,
    /// `|x_j|^S [C]`, then `|x_j|^(S - 1)`.
    powers: Vec<f64>,
}

impl Buffers {
    /// For `library`.
    pub(super) fn new(library: &Library, features: &Features) -> Self {
        let rows = |count: usize| vec![0.0; count * TILE];
        let moving = library.moving_features();
        Buffers {
            scratch: features.scratch(),
            features: Vec::new(),
            cotangents: Vec::new(),
            tile: Tile {
                features: rows(library.features()),
                products: rows(library.count()),
                adjoints: rows(library.count()),
                slopes: rows(library.channels * moving),
                numerators: rows(library.channels),
                inverse: rows(1),
                powers: rows(2 * library.denominator_weights()),
            },
        }
    }
}

fn row(values: &[f64], at: usize, width: usize) -> &[f64] {
    &values[at * TILE..][..width]
}

fn row_mut(values: &mut [f64], at: usize, width: usize) -> &mut [f64] {
    &mut values[at * TILE..][..width]
}

/// `to += factor from`.
#[inline(always)]
fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// `to += a b`.
#[inline(always)]
fn add_product(to: &mut [f64], a: &[f64], b: &[f64]) {
    to.iter_mut().zip(a).zip(b).for_each(|((to, a), b)| *to += a * b);
}

impl VectorField<'_> {
    /// Rates with tangents `[1 + T, C, N]` of a state with tangents, under inputs `[U, N]`; tangent `t` is also along `directions[t]`, if
    /// there is such a one.
    #[inline(always)]
    pub(super) fn rates(
        &self,
        state: &[f64],
        inputs: &[f64],
        directions: &[Direction],
        buffers: &mut Buffers,
        to: &mut [f64],
    ) {
        let (library, points) = (self.library, self.points);
        let (size, of_each) = (library.channels * points, library.moving_features() * points);
        let tangents = state.len() / size - 1;
        let Buffers { scratch, features, tile, .. } = buffers;
        features.resize((1 + tangents) * of_each, 0.0);
        self.features.apply(points, state, scratch, features);
        for start in (0..points).step_by(TILE) {
            let width = TILE.min(points - start);
            self.products(&features[..of_each], inputs, start, width, tile);
            for c in 0..library.channels {
                self.rate(c, width, tile, &mut to[c * points + start..][..width]);
            }
            if tangents == 0 {
                continue;
            }
            self.slopes(width, tile);
            for t in 1..=tangents {
                let (moved, to) = (&features[t * of_each..][..of_each], &mut to[t * size..][..size]);
                for (c, to) in to.chunks_exact_mut(points).enumerate() {
                    let to = &mut to[start..][..width];
                    to.fill(0.0);
                    for (f, moved) in moved.chunks_exact(points).enumerate() {
                        let slopes = row(&tile.slopes, c * library.moving_features() + f, width);
                        add_product(to, slopes, &moved[start..][..width]);
                    }
                }
                for &(index, value) in directions.get(t - 1).into_iter().flatten() {
                    self.along(index, value, width, tile, |c| c * points + start..c * points + start + width, to);
                }
            }
        }
        self.features.keep(to, scratch);
    }

    /// The transpose at the state `[C, N]`: adds to `cotangents [C, N]` of the state and to `gradient [P]` what those of the rates give,
    /// which are lost.
    #[inline(always)]
    pub(super) fn pull_back(
        &self,
        (state, inputs): (&[f64], &[f64]),
        of_rates: &mut [f64],
        buffers: &mut Buffers,
        cotangents: &mut [f64],
        gradient: &mut [f64],
    ) {
        let (library, points) = (self.library, self.points);
        let moving = library.moving_features();
        let Buffers { scratch, features, cotangents: of_features, tile } = buffers;
        features.resize(moving * points, 0.0);
        of_features.resize(moving * points, 0.0);
        self.features.apply(points, state, scratch, features);
        self.features.keep(of_rates, scratch);
        for start in (0..points).step_by(TILE) {
            let width = TILE.min(points - start);
            self.products(features, inputs, start, width, tile);
            if library.saturation > 0 {
                for c in 0..library.channels {
                    self.numerator(c, width, tile);
                }
            }
            self.slopes(width, tile);
            for f in 0..moving {
                let to = &mut of_features[f * points + start..][..width];
                to.fill(0.0);
                for c in 0..library.channels {
                    add_product(to, row(&tile.slopes, c * moving + f, width), &of_rates[c * points + start..][..width]);
                }
            }
            self.gradient(of_rates, points, start, width, tile, gradient);
        }
        self.features.pull_back(of_features, scratch, cotangents);
    }

    /// The transpose at the state `[C, N]` of a library without space, `N` being at most a tile, for the cotangents `[K, C, N]` of several
    /// outputs: writes those of the state, and keeps what gradients need.
    #[inline(always)]
    pub(super) fn pull_back_each(
        &self,
        (state, inputs): (&[f64], &[f64]),
        of_rates: &[f64],
        buffers: &mut Buffers,
        cotangents: &mut [f64],
        kept: &mut Stages,
    ) {
        let (library, points, tile) = (self.library, self.points, &mut buffers.tile);
        let channels = library.channels;
        self.products(state, inputs, 0, points, tile);
        if library.saturation > 0 {
            for c in 0..channels {
                self.numerator(c, points, tile);
            }
        }
        self.slopes(points, tile);
        cotangents.fill(0.0);
        for (of_rates, to) in of_rates.chunks_exact(state.len()).zip(cotangents.chunks_exact_mut(state.len())) {
            for (f, to) in to.chunks_exact_mut(points).enumerate() {
                for (c, of_rate) in of_rates.chunks_exact(points).enumerate() {
                    add_product(to, row(&tile.slopes, c * channels + f, points), of_rate);
                }
            }
        }
        let keep = |to: &mut Vec<f64>, from: &[f64]| {
            from.chunks_exact(TILE).for_each(|row| to.extend_from_slice(&row[..points]));
        };
        keep(&mut kept.products, &tile.products);
        kept.cotangents.extend_from_slice(of_rates);
        if library.saturation > 0 {
            keep(&mut kept.inverse, &tile.inverse);
            keep(&mut kept.numerators, &tile.numerators);
            keep(&mut kept.powers, &tile.powers[..library.denominator_weights() * TILE]);
        }
    }

    /// Features and products of a tile, and its `1 / D`.
    #[inline(always)]
    fn products(&self, moving: &[f64], inputs: &[f64], start: usize, width: usize, tile: &mut Tile) {
        let fields = [moving, inputs, self.waves].into_iter().flat_map(|fields| fields.chunks_exact(self.points));
        for (at, field) in fields.enumerate() {
            row_mut(&mut tile.features, at, width).copy_from_slice(&field[start..][..width]);
        }
        row_mut(&mut tile.products, 0, width).fill(1.0);
        for (at, &(parent, feature)) in self.library.products.iter().enumerate() {
            let (before, here) = tile.products.split_at_mut((at + 1) * TILE);
            let (parent, feature) = (row(before, parent, width), row(&tile.features, feature, width));
            here[..width].iter_mut().zip(parent).zip(feature).for_each(|((to, a), b)| *to = a * b);
        }
        if self.library.saturation > 0 {
            let Tile { features, inverse, powers, .. } = tile;
            let inverse = &mut inverse[..width];
            inverse.fill(1.0);
            for (j, delta) in self.block(2).iter().enumerate() {
                let (here, lower) = powers.split_at_mut(self.library.channels * TILE);
                let (here, lower) = (row_mut(here, j, width), row_mut(lower, j, width));
                let x = row(features, j, width);
                lower.fill(1.0);
                for _ in 1..self.library.saturation {
                    lower.iter_mut().zip(x).for_each(|(to, x)| *to *= x.abs());
                }
                here.iter_mut().zip(&*lower).zip(x).for_each(|((to, lower), x)| *to = lower * x.abs());
                add(inverse, delta * delta.abs(), here);
            }
            inverse.iter_mut().for_each(|value| *value = 1.0 / *value);
        }
    }

    fn block(&self, at: usize) -> &[f64] {
        &self.weights[self.library.layout().blocks[at].range()]
    }

    /// The weights of channel `c` in a matrix of products.
    fn of_channel(&self, block: usize, c: usize) -> &[f64] {
        let count = self.library.count();
        &self.block(block)[c * count..(c + 1) * count]
    }

    #[inline(always)]
    fn numerator(&self, c: usize, width: usize, tile: &mut Tile) {
        let sum = row_mut(&mut tile.numerators, c, width);
        sum.fill(0.0);
        for (m, rho) in self.of_channel(1, c).iter().enumerate().filter(|(_, rho)| **rho != 0.0) {
            add(sum, *rho, row(&tile.products, m, width));
        }
    }

    #[inline(always)]
    fn rate(&self, c: usize, width: usize, tile: &mut Tile, to: &mut [f64]) {
        to.fill(0.0);
        for (m, theta) in self.of_channel(0, c).iter().enumerate().filter(|(_, theta)| **theta != 0.0) {
            add(to, *theta, row(&tile.products, m, width));
        }
        if self.library.saturation > 0 {
            self.numerator(c, width, tile);
            add_product(to, row(&tile.numerators, c, width), row(&tile.inverse, 0, width));
        }
    }

    /// `G`, by reverse mode through the products; `numerators` are those of the tile.
    #[inline(always)]
    fn slopes(&self, width: usize, tile: &mut Tile) {
        let (library, moving) = (self.library, self.library.moving_features());
        let Tile { features, products, adjoints, slopes, numerators, inverse, powers } = tile;
        let inverse = &inverse[..width];
        for c in 0..library.channels {
            for (m, theta) in self.of_channel(0, c).iter().enumerate() {
                row_mut(adjoints, m, width).fill(*theta);
            }
            if library.saturation > 0 {
                for (m, rho) in self.of_channel(1, c).iter().enumerate() {
                    add(row_mut(adjoints, m, width), *rho, inverse);
                }
            }
            slopes[c * moving * TILE..(c + 1) * moving * TILE].fill(0.0);
            for (at, &(parent, feature)) in library.products.iter().enumerate().rev() {
                let (before, adjoint) = adjoints.split_at_mut((at + 1) * TILE);
                let adjoint = &adjoint[..width];
                if feature < moving {
                    add_product(row_mut(slopes, c * moving + feature, width), adjoint, row(products, parent, width));
                }
                if parent > 0 {
                    add_product(row_mut(before, parent, width), adjoint, row(features, feature, width));
                }
            }
            if library.saturation > 0 {
                for (j, delta) in self.block(2).iter().enumerate() {
                    let (x, numerator) = (row(features, j, width), row(numerators, c, width));
                    let factor = -delta * delta.abs() * library.saturation as f64;
                    let lower = row(powers, library.channels + j, width);
                    let to = row_mut(slopes, c * moving + j, width).iter_mut().zip(x);
                    for ((((to, x), h), inverse), lower) in to.zip(numerator).zip(inverse).zip(lower) {
                        *to += factor * h * inverse * inverse * lower * sign(*x);
                    }
                }
            }
        }
    }

    /// Adds to the tangent `to [C, N]` of the rates what `value` along weight `index` gives.
    #[inline(always)]
    fn along(
        &self,
        index: usize,
        value: f64,
        width: usize,
        tile: &Tile,
        place: impl Fn(usize) -> std::ops::Range<usize>,
        to: &mut [f64],
    ) {
        let matrix = self.library.channels * self.library.count();
        let (c, m) = (index % matrix / self.library.count(), index % self.library.count());
        let inverse = &tile.inverse[..width];
        match index / matrix {
            0 => add(&mut to[place(c)], value, row(&tile.products, m, width)),
            1 if index < 2 * matrix => {
                let terms = row(&tile.products, m, width).iter().zip(inverse);
                to[place(c)].iter_mut().zip(terms).for_each(|(to, (phi, inverse))| *to += value * phi * inverse);
            }
            _ => {
                let at = index - 2 * matrix;
                let factor = -2.0 * value * self.block(2)[at].abs();
                for c in 0..self.library.channels {
                    let terms = row(&tile.numerators, c, width).iter().zip(inverse).zip(row(&tile.powers, at, width));
                    for (to, ((h, inverse), power)) in to[place(c)].iter_mut().zip(terms) {
                        *to += factor * h * inverse * inverse * power;
                    }
                }
            }
        }
    }

    /// Adds to `gradient [P]` what cotangents `[C, N]` of the rates give at the points of a tile.
    #[inline(always)]
    fn gradient(
        &self,
        of_rates: &[f64],
        points: usize,
        start: usize,
        width: usize,
        tile: &mut Tile,
        gradient: &mut [f64],
    ) {
        let (library, count) = (self.library, self.library.count());
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let Tile { products, adjoints, numerators, inverse, powers, .. } = tile;
        let matrix = library.channels * count;
        for c in 0..library.channels {
            let cotangents = &of_rates[c * points + start..][..width];
            for m in 0..count {
                gradient[c * count + m] += sum(row(products, m, width), cotangents);
            }
            if library.saturation > 0 {
                // The adjoints are no longer needed: their rows hold the cotangents of the numerator, and of the denominator.
                let of_numerator = row_mut(adjoints, 0, width);
                of_numerator.iter_mut().zip(cotangents).zip(&*inverse).for_each(|((to, a), b)| *to = a * b);
                for m in 0..count {
                    gradient[matrix + c * count + m] += sum(row(products, m, width), of_numerator);
                }
                let numerator = row(numerators, c, width);
                of_numerator
                    .iter_mut()
                    .zip(numerator)
                    .zip(&*inverse)
                    .for_each(|((to, h), inverse)| *to *= -h * inverse);
                for (at, delta) in self.block(2).iter().enumerate() {
                    gradient[2 * matrix + at] += 2.0 * delta.abs() * sum(row(powers, at, width), of_numerator);
                }
            }
        }
    }
}

/// Minus one, zero or one.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}
