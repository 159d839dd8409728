//! The method of Dormand and Prince, order 5 with an error estimate of order 4 and a continuous extension of order 4.
//!
//! ```text
//! y' = y + dt sum_{i=1..6} b_i k_i
//! y(t + theta dt) = y + dt sum_{i=1..7} b_i(theta) k_i,     b_i(theta) = sum_m p_im theta^m
//! ```
//!
//! `k_7` is the derivative at `y'`, the first stage of the next step.
//! Source: J. R. Dormand, P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl. Math. 6 (1980) 19-26;
//! the extension from L. F. Shampine, Some practical Runge-Kutta formulas, Math. Comp. 46 (1986) 135-150.

use std::sync::LazyLock;

use super::tableau::{Embedded, ErrorEstimate, Tableau};

/// Dormand-Prince 5(4).
pub static DOPRI5: LazyLock<Tableau> = LazyLock::new(|| Tableau {
    name: "dopri5",
    order: 5,
    nodes: vec![0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0],
    stages: vec![
        vec![],
        vec![1.0 / 5.0],
        vec![3.0 / 40.0, 9.0 / 40.0],
        vec![44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        vec![19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
        vec![9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    ],
    weights: vec![35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
    embedded: Some(Embedded {
        error: ErrorEstimate::Single(&[
            -71.0 / 57600.0,
            0.0,
            71.0 / 16695.0,
            -71.0 / 1920.0,
            17253.0 / 339200.0,
            -22.0 / 525.0,
            1.0 / 40.0,
        ]),
        error_order: 4,
        stiff: 3.0,
        extension_order: 4,
        extension_nodes: &[],
        extension_stages: &[],
        extension: &[
            &[1.0, -8048581381.0 / 2820520608.0, 8663915743.0 / 2820520608.0, -12715105075.0 / 11282082432.0],
            &[],
            &[0.0, 131558114200.0 / 32700410799.0, -68118460800.0 / 10900136933.0, 87487479700.0 / 32700410799.0],
            &[0.0, -1754552775.0 / 470086768.0, 14199869525.0 / 1410260304.0, -10690763975.0 / 1880347072.0],
            &[0.0, 127303824393.0 / 49829197408.0, -318862633887.0 / 49829197408.0, 701980252875.0 / 199316789632.0],
            &[0.0, -282668133.0 / 205662961.0, 2019193451.0 / 616988883.0, -1453857185.0 / 822651844.0],
            &[0.0, 40617522.0 / 29380423.0, -110615467.0 / 29380423.0, 69997945.0 / 29380423.0],
        ],
    }),
});
