//! The method of Tsitouras, order 5 with an error estimate of order 4 and a continuous extension of order 4.
//!
//! ```text
//! y' = y + dt sum_{i=1..6} b_i k_i
//! y(t + theta dt) = y + dt sum_{i=1..7} b_i(theta) k_i,     b_i(theta) = sum_m p_im theta^m
//! ```
//!
//! `k_7` is the derivative at `y'`, the first stage of the next step.
//! Source: Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption,
//! Computers and Mathematics with Applications 62 (2011) 770-775. The `b_i(theta)` are the factored ones of the source multiplied out.

use std::sync::LazyLock;

use super::tableau::{Embedded, ErrorEstimate, Tableau};

/// Tsitouras 5(4).
pub static TSIT5: LazyLock<Tableau> = LazyLock::new(|| Tableau {
    name: "tsit5",
    order: 5,
    nodes: vec![0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0],
    stages: vec![
        vec![],
        vec![0.161],
        vec![-0.008480655492356989, 0.335480655492357],
        vec![2.8971530571054935, -6.359448489975075, 4.3622954328695815],
        vec![5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
        vec![5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
    ],
    weights: vec![
        0.09646076681806523,
        0.01,
        0.4798896504144996,
        1.379008574103742,
        -3.290069515436081,
        2.324710524099774,
    ],
    embedded: Some(Embedded {
        error: ErrorEstimate::Single(&[
            -0.001780011052225777,
            -0.0008164344596567469,
            0.007880878010261995,
            -0.1447110071732629,
            0.5823571654525552,
            -0.45808210592918697,
            0.015151515151515152,
        ]),
        error_order: 4,
        stiff: 3.2,
        extension_order: 4,
        extension_nodes: &[],
        extension_stages: &[],
        extension: &[
            &[1.0, -2.763706197274826, 2.9132554618219126, -1.0530884977290216],
            &[0.0, 0.13169999999999998, -0.2234, 0.1017],
            &[0.0, 3.9302962368947516, -5.941033872131505, 2.490627285651253],
            &[0.0, -12.411077166933676, 30.33818863028232, -16.548102889244902],
            &[0.0, 37.50931341651104, -88.1789048947664, 47.37952196281928],
            &[0.0, -27.896526289197286, 65.09189467479366, -34.87065786149661],
            &[0.0, 1.5, -4.0, 2.5],
        ],
    }),
});
