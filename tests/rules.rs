//! Every rule, by what a rule promises: derivatives, penalty, Gauss-Newton, files, training, adaptation.

#[path = "common/dataset.rs"]
mod common;
#[path = "rules/curved.rs"]
mod curved;
#[path = "common/model.rs"]
mod model;
#[path = "rules/networks.rs"]
mod networks;
#[path = "rules/pipelines.rs"]
mod pipelines;

use approx::assert_relative_eq;
use curved::Curved;
use model::{FOUR_PAIRS, NATIVE, files, generate, train, train_settings, with_threads};
use nalgebra::{DMatrix, DVector};
use paramill::checkpoint::StoredModel;
use paramill::engine::{Batch, Engine, Jacobian, Native, Segment, Solver};
use paramill::estimate::{self, Adapter, Status, Support};
use paramill::models;
use paramill::models::{AdaptedLayers, Layout, Mlp, Model};
use paramill::progress::{Interrupt, Run, Silent};
use paramill::random::Stream;
use paramill::rules::{ContextFit, Kind, Restricted, Rule, SETTINGS_OF_SOME, Shape, decode_all, pull_back_all};
use paramill::schema::{Split, Trajectory};
use paramill::train::{
    Contexts, Cost, Curvature, GaussNewton, LinearModel, LocalModel, MatrixFree, NormalEquations, Point, Step,
};

/// Nobody interrupts.
static QUIET: Interrupt = Interrupt::new();

/// Values of a context, where an environment has one.
const D: usize = 2;

fn layout() -> Layout {
    Mlp::new(2, 0, 3, 4).layout().clone()
}

/// What rules are built for here.
fn shape(adapted: AdaptedLayers) -> Shape {
    Shape { adapted, context_dimension: D, inner_rate: 0.1 }
}

/// Weights that are dropped, or held.
fn every_third() -> Vec<bool> {
    (0..layout().size()).map(|weight| weight % 3 == 1).collect()
}

/// Every rule that settings can name, with every choice of layers that it takes; beside them one that is curved in the context, with and
/// without anything that environments own.
fn rules() -> Vec<(String, Box<dyn Rule>)> {
    let mut rules: Vec<(String, Box<dyn Rule>)> = Vec::new();
    for kind in Kind::ALL {
        for adapted in [AdaptedLayers::All, AdaptedLayers::First, AdaptedLayers::Last] {
            if kind.problem(&models::Settings::default(), adapted).is_none() {
                rules.push((format!("{kind:?}, {adapted:?}"), kind.build(&layout(), shape(adapted))));
            }
        }
    }
    let coda: &'static dyn Rule = Box::leak(Kind::Coda.build(&layout(), shape(AdaptedLayers::All)));
    rules.push(("dropped".to_owned(), Box::new(Restricted::dropped(coda, every_third()))));
    for d in [0, D] {
        rules.push((format!("curved, {d}"), Box::new(Curved { weights: layout().size(), d })));
    }
    rules
}

#[test]
fn what_is_dropped_is_zero_and_so_are_the_values_that_made_it() {
    let coda = Kind::Coda.build(&layout(), shape(AdaptedLayers::All));
    let rule = Restricted::dropped(coda.as_ref(), every_third());
    let mut shared: Vec<f64> = (0..rule.shared_size()).map(|at| 1.0 + at as f64).collect();
    let before = shared.clone();
    rule.clear(&mut shared);
    let size = layout().size();
    for (at, (value, before)) in shared.iter().zip(before).enumerate() {
        assert_eq!(*value, if every_third()[at % size] { 0.0 } else { before });
    }
    let (mut own, mut of_coda) = (vec![f64::NAN; size], vec![f64::NAN; size]);
    rule.decode(&shared, &[0.3, -2.0], &mut own);
    coda.decode(&shared, &[0.3, -2.0], &mut of_coda);
    assert_eq!(own, of_coda, "the rule itself gives the same then");
}

/// What a rule has a use for is told by its name; here it is held against what the rule does.
#[test]
fn a_rule_heeds_the_settings_of_what_it_has() {
    for kind in Kind::ALL {
        let rule = kind.build(&layout(), shape(AdaptedLayers::All));
        let shared: Vec<f64> = (0..rule.shared_size()).map(|at| 0.1 + at as f64).collect();
        let has_inner_step = matches!(rule.context_fit(), ContextFit::GradientSteps { .. });
        let heeds = ["locality_penalty", "inner_rate", "context_penalty"].map(|setting| kind.heeds(setting));
        let has = [rule.penalty(&shared) > 0.0, has_inner_step, rule.context_size() > 0 && !has_inner_step];
        assert_eq!(heeds, has, "{kind:?}");
    }
    assert!(SETTINGS_OF_SOME.iter().all(|setting| Kind::ALL.iter().any(|kind| !kind.heeds(setting))));
}

#[test]
fn rules_of_a_bias_refuse_a_model_without_one() {
    let library: models::Settings = toml::from_str("kind = \"library\"").unwrap();
    let refuses = |kind: Kind| kind.problem(&library, AdaptedLayers::All).map(|problem| problem.0);
    assert_eq!(refuses(Kind::CodaL2), None);
    for kind in [Kind::CaviaConcat, Kind::CaviaFilm, Kind::Ncf, Kind::Geps, Kind::Leads] {
        assert_eq!(refuses(kind), Some("rule"), "{kind:?}");
    }
    assert_eq!([Kind::Maml, Kind::Erm, Kind::MultiTask].map(refuses), [None; 3]);
    let odd = Kind::Leads.layout_problem(Mlp::new(2, 0, 3, 5).layout());
    assert!(odd.is_some_and(|(found, _)| found.contains("5 features")));
    assert_eq!(Kind::Leads.layout_problem(&layout()), None);
    let problem = Kind::CaviaFilm.problem(&models::Settings::default(), AdaptedLayers::Last);
    assert_eq!(problem.map(|it| it.0), Some("adapted_layers"));
}

/// A rule with random shared values, and contexts of three environments.
struct Case {
    rule: Box<dyn Rule>,
    stream: Stream,
    shared: Vec<f64>,
    contexts: Vec<f64>,
}

const ENVIRONMENTS: usize = 3;

impl Case {
    fn new(rule: Box<dyn Rule>) -> Case {
        let mut stream = Stream::new(7, "rules", &[]);
        let weights = normal(&mut stream, layout().size());
        let shared = rule.initial_shared(weights, 0.5, &mut stream);
        assert_eq!(shared.len(), rule.shared_size());
        let contexts = normal(&mut stream, ENVIRONMENTS * rule.context_size());
        Case { rule, stream, shared, contexts }
    }

    fn context(&self, e: usize) -> &[f64] {
        let d = self.rule.context_size();
        &self.contexts[e * d..(e + 1) * d]
    }

    fn decode(&self, shared: &[f64], context: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; layout().size()];
        self.rule.decode(shared, context, &mut weights);
        weights
    }
}

fn normal(stream: &mut Stream, count: usize) -> Vec<f64> {
    (0..count).map(|_| stream.normal()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What `check` says of every rule.
fn for_all(check: impl Fn(&str, Case)) {
    rules().into_iter().for_each(|(name, rule)| check(&name, Case::new(rule)));
}

#[test]
fn tangents_agree_with_finite_differences_and_gradients_are_their_transpose() {
    for_all(|name, mut case| {
        let (d_shared, d_context) =
            (normal(&mut case.stream, case.shared.len()), normal(&mut case.stream, case.rule.context_size()));
        let gradient = normal(&mut case.stream, layout().size());
        let context = case.context(0).to_vec();
        let h = 1e-6;
        let along = |sign: f64| {
            let moved = |values: &[f64], by: &[f64]| -> Vec<f64> {
                values.iter().zip(by).map(|(value, d)| value + sign * h * d).collect()
            };
            case.decode(&moved(&case.shared, &d_shared), &moved(&context, &d_context))
        };
        let mut tangent = vec![0.0; layout().size()];
        case.rule.push_forward(&case.shared, &context, &d_shared, &d_context, &mut tangent);
        let difference: Vec<f64> =
            along(1.0).iter().zip(along(-1.0)).map(|(up, down)| (up - down) / (2.0 * h)).collect();
        assert_relative_eq!(tangent.as_slice(), difference.as_slice(), epsilon = 1e-7, max_relative = 1e-6);

        let (mut of_shared, mut of_context) = (vec![0.0; d_shared.len()], vec![0.0; d_context.len()]);
        case.rule.pull_back(&case.shared, &context, &gradient, &mut of_shared, &mut of_context);
        let pulled = dot(&of_shared, &d_shared) + dot(&of_context, &d_context);
        assert_relative_eq!(dot(&gradient, &tangent), pulled, max_relative = 1e-10);
        assert!(tangent.iter().any(|value| *value != 0.0), "{name}");
    });
}

#[test]
fn a_linearised_rule_has_its_tangents_behind_its_weights_and_an_affine_one_has_no_more() {
    for_all(|name, case| {
        let (size, d) = (layout().size(), case.rule.context_size());
        let context = case.context(1);
        let linearised = case.rule.linearise(&case.shared, context, size);
        assert_eq!(linearised[..size], case.decode(&case.shared, context));
        for k in 0..d {
            let mut unit = vec![0.0; d];
            unit[k] = 1.0;
            let mut tangent = vec![0.0; size];
            case.rule.push_forward(&case.shared, context, &vec![0.0; case.shared.len()], &unit, &mut tangent);
            assert_eq!(linearised[(1 + k) * size..(2 + k) * size], tangent);
        }
        let basis = case.rule.linearise(&case.shared, &vec![0.0; d], size);
        let affine: Vec<f64> = (0..size)
            .map(|i| basis[i] + context.iter().enumerate().map(|(k, xi)| xi * basis[(1 + k) * size + i]).sum::<f64>())
            .collect();
        let off = affine.iter().zip(&linearised).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        assert_eq!(case.rule.is_affine() || d == 0, off < 1e-12, "{name}: {off}");
    });
}

#[test]
fn the_parabola_touches_the_penalty_lies_nowhere_below_it_and_gives_its_gradient() {
    for_all(|name, mut case| {
        let weights = case.rule.majorizer_weights(&case.shared);
        assert_eq!(weights.len(), case.shared.len());
        let omega = case.rule.penalty(&case.shared);
        let above = |other: &[f64]| -> f64 {
            let moved = other.iter().zip(&case.shared).zip(&weights);
            omega + moved.map(|((other, z), q)| q * (other * other - z * z)).sum::<f64>()
        };
        for _ in 0..20 {
            let other = case.rule.initial_shared(vec![0.0; layout().size()], 1.0, &mut case.stream);
            assert!(above(&other) >= case.rule.penalty(&other) * (1.0 - 1e-12), "{name}");
        }
        let mut gradient = vec![0.0; case.shared.len()];
        case.rule.add_penalty_gradient(&case.shared, 0.3, &mut gradient);
        let h = 1e-6;
        for i in 0..case.shared.len() {
            let value = |sign: f64| {
                let mut moved = case.shared.clone();
                moved[i] += sign * h;
                0.3 * case.rule.penalty(&moved)
            };
            let difference = (value(1.0) - value(-1.0)) / (2.0 * h);
            assert_relative_eq!(difference, gradient[i], epsilon = 1e-7, max_relative = 1e-6);
        }
        assert!(weights.iter().all(|q| *q >= 0.0) && (omega > 0.0) == weights.iter().any(|q| *q > 0.0), "{name}");
    });
    let penalised = rules().iter().filter(|(_, rule)| rule.penalty(&vec![1.0; rule.shared_size()]) > 0.0).count();
    assert!(penalised > 1, "no rule has a penalty");
}

/// A step against the normal equations over all that is trained, `(J_z' J_z + H + mu I) dz = -(J_z' r + H z)`; and it goes down.
#[test]
fn a_gauss_newton_step_solves_the_penalised_normal_equations() {
    let damping = 0.3;
    for_all(|name, mut case| {
        let (size, d, s) = (layout().size(), case.rule.context_size(), case.rule.shared_size());
        // Two residuals of the last environment, none of the second.
        let environments = vec![0, 0, 0, 2, 2];
        let n = environments.len();
        let (residuals, rows) = (normal(&mut case.stream, n), normal(&mut case.stream, n * size));
        let jacobian = Jacobian { environments: environments.clone(), residuals, rows };
        let trained = [case.shared.clone(), case.contexts.clone()].concat();
        for contexts in [Contexts::Learned, Contexts::Tied] {
            for (locality_penalty, context_penalty) in [(0.05, 0.02), (0.0, 0.0)] {
                let settings = GaussNewton { locality_penalty, context_penalty, ..GaussNewton::default() };
                let learned = contexts == Contexts::Learned;
                let of_shared = case.rule.majorizer_weights(&case.shared).into_iter();
                let mut held: Vec<f64> = of_shared.map(|q| n as f64 * locality_penalty * q).collect();
                held.resize(trained.len(), if learned { n as f64 * context_penalty } else { 0.0 });
                let mut dense = DMatrix::zeros(n, trained.len());
                for (i, (&e, row)) in environments.iter().zip(jacobian.rows.chunks_exact(size)).enumerate() {
                    let (mut d_shared, mut d_context) = (vec![0.0; s], vec![0.0; d]);
                    case.rule.pull_back(&case.shared, case.context(e), row, &mut d_shared, &mut d_context);
                    (0..s).for_each(|j| dense[(i, j)] = d_shared[j]);
                    if learned {
                        (0..d).for_each(|k| dense[(i, s + e * d + k)] = d_context[k]);
                    }
                }
                let (z, r) = (DVector::from_vec(trained.clone()), DVector::from_vec(jacobian.residuals.clone()));
                let held = DMatrix::from_diagonal(&DVector::from_vec(held));
                let identity = DMatrix::identity(trained.len(), trained.len());
                let matrix = dense.transpose() * &dense + &held + identity * damping;
                let expected = -matrix.lu().solve(&(dense.transpose() * &r + &held * &z)).unwrap();
                let value = |dz: &DVector<f64>| {
                    let moved = &z + dz;
                    (&r + &dense * dz).norm_squared() + (moved.transpose() * &held * &moved)[0]
                };
                let decrease = value(&DVector::zeros(trained.len())) - value(&expected);

                let rule = case.rule.as_ref();
                let by_residuals = |threads| {
                    let model = || LinearModel::new(rule, &settings, contexts, &trained, jacobian.clone(), &QUIET);
                    with_threads(threads, || model().step(damping, None).unwrap())
                };
                let by_weights = |threads| {
                    let part = |i: usize| Jacobian {
                        environments: vec![environments[i]],
                        residuals: vec![jacobian.residuals[i]],
                        rows: rule.moving_weights(size).into_iter().map(|p| jacobian.rows[i * size + p]).collect(),
                    };
                    let parts = (0..n).map(|i| (environments[i], part(i)));
                    with_threads(threads, || {
                        let mut model =
                            NormalEquations::new(rule, &settings, contexts, &trained, (n, size), parts, &QUIET);
                        model.scale.fill(1.0);
                        model.step(damping, None).unwrap()
                    })
                };
                let steps: [&dyn Fn(usize) -> Step; 2] = [&by_residuals, &by_weights];
                for step in steps {
                    let found = step(1);
                    let moved: Vec<f64> = found.trained.iter().zip(&trained).map(|(moved, z)| moved - z).collect();
                    assert_relative_eq!(moved.as_slice(), expected.as_slice(), epsilon = 1e-9);
                    assert_relative_eq!(found.decrease, decrease, max_relative = 1e-8);
                    assert!(found.decrease > 0.0, "{name}");
                    assert!(found.trained == step(3).trained, "{name}: bits depend on the number of threads");
                }
            }
        }
    });
}

/// Random trajectories of two channels, two of each environment but the second, which has none; weights are small.
fn random_batch(case: &mut Case) -> Batch {
    let times = [0.0, 0.2, 0.5];
    let states: Vec<Vec<f64>> = (0..ENVIRONMENTS * 2).map(|_| normal(&mut case.stream, 6)).collect();
    let segments: Vec<Vec<Segment>> = states
        .chunks_exact(2)
        .map(|rows| rows.iter().map(|states| Segment { times: &times, states, inputs: &[] }).collect())
        .collect();
    let mut batch = Batch::new(2, &[], &segments, (0, 0));
    batch.weigh(&[1.5, 0.5]);
    batch.blank(1);
    case.contexts.iter_mut().chain(&mut case.shared).for_each(|value| *value *= 0.3);
    batch
}

/// A corrected step is `v - (J'J + mu I)^-1 J' r_vv / 2`, `r_vv` by differences of another length, in both spaces; where the correction is
/// long beside `v`, which a small damping makes it, the step is `v`.
#[test]
fn a_corrected_step_follows_the_bend_of_the_residuals() {
    let engine = Native::<f64>::new(&Mlp::new(2, 0, 3, 4), Solver::Rk4.tableau(1));
    for_all(|name, mut case| {
        let batch = random_batch(&mut case);
        let (rule, settings) = (case.rule.as_ref(), GaussNewton::default());
        let trained = [case.shared.clone(), case.contexts.clone()].concat();
        let weights: Vec<f64> = (0..ENVIRONMENTS).flat_map(|e| case.decode(&case.shared, case.context(e))).collect();
        let jacobian = engine.jacobian(&weights, &batch);
        let curvature = Curvature::new(rule, &engine, &batch, &trained, &weights);
        let by_residuals = LinearModel::new(rule, &settings, Contexts::Learned, &trained, jacobian, &QUIET);
        let size = case.decode(&case.shared, case.context(0)).len();
        let part = |e: usize| {
            let weights = case.decode(&case.shared, case.context(e));
            (e, engine.jacobian_of(&rule.moving_weights(size), &weights, &batch.environment(e)))
        };
        let parts = [0, 2].map(part);
        let mut by_weights = NormalEquations::new(
            rule,
            &settings,
            Contexts::Learned,
            &trained,
            (batch.values(), size),
            parts.into_iter(),
            &QUIET,
        );
        by_weights.scale.fill(1.0);
        let both: [&dyn LocalModel; 2] = [&by_residuals, &by_weights];
        let residuals = |z: &[f64]| {
            let (shared, contexts) = z.split_at(case.shared.len());
            let d = case.rule.context_size();
            let of = |e: usize| case.decode(shared, &contexts[e * d..(e + 1) * d]);
            let weights: Vec<f64> = (0..ENVIRONMENTS).flat_map(of).collect();
            let predictions = engine.predict(&weights, &batch);
            let values = predictions.iter().zip(&batch.targets).zip(&batch.mask);
            DVector::from_iterator(batch.mask.len(), values.map(|((x, y), m)| m * (x - y)))
        };
        let along = |direction: &[f64], h: f64| {
            let moved: Vec<f64> = trained.iter().zip(direction).map(|(z, v)| z + h * v).collect();
            residuals(&moved)
        };
        let mut dense = DMatrix::zeros(batch.mask.len(), trained.len());
        for j in 0..trained.len() {
            let unit: Vec<f64> = (0..trained.len()).map(|i| f64::from(u8::from(i == j))).collect();
            dense.set_column(j, &((along(&unit, 1e-5) - along(&unit, -1e-5)) / 2e-5));
        }
        for damping in [3.0, 1e-9] {
            let v: Vec<f64> = by_residuals.step(damping, None).unwrap().trained;
            let v: Vec<f64> = v.iter().zip(&trained).map(|(moved, z)| moved - z).collect();
            let h = 0.02;
            let second = (along(&v, h) - along(&v, 0.0) * 2.0 + along(&v, -h)) / (h * h);
            let matrix = dense.transpose() * &dense + DMatrix::identity(trained.len(), trained.len()) * damping;
            let a = matrix.lu().solve(&(dense.transpose() * second)).unwrap() * -0.5;
            let length = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
            let is_added = 2.0 * length(a.as_slice()) < 0.75 * length(&v);
            for model in both {
                let step = model.step(damping, Some(&curvature)).unwrap();
                let more: Vec<f64> =
                    step.trained.iter().zip(trained.iter().zip(&v)).map(|(z, (at, v))| z - at - v).collect();
                let expected = if is_added { a.clone() } else { DVector::zeros(a.len()) };
                assert_relative_eq!(more.as_slice(), expected.as_slice(), epsilon = 0.03 * length(&v));
                assert_relative_eq!(step.decrease, model.step(damping, None).unwrap().decrease);
                assert!(!is_added || damping == 1e-9 || length(&more) > 0.0, "{name}");
            }
        }
    });
}

/// A step by conjugate gradients to a tight tolerance is that of a dense system, to the bit on any number of threads.
#[test]
fn a_step_without_a_jacobian_is_the_dense_one() {
    let engine = Native::<f64>::new(&Mlp::new(2, 0, 3, 4), Solver::Rk4.tableau(1));
    let damping = 0.3;
    for_all(|name, mut case| {
        let batch = random_batch(&mut case);
        let trained = [case.shared.clone(), case.contexts.clone()].concat();
        let weights: Vec<f64> = (0..ENVIRONMENTS).flat_map(|e| case.decode(&case.shared, case.context(e))).collect();
        for contexts in [Contexts::Learned, Contexts::Tied] {
            for (locality_penalty, context_penalty) in [(0.05, 0.02), (0.0, 0.0)] {
                let (inner_tolerance, inner_steps) = (1e-13, 2000);
                let settings = GaussNewton {
                    locality_penalty,
                    context_penalty,
                    inner_tolerance,
                    inner_steps,
                    ..GaussNewton::default()
                };
                let rule = case.rule.as_ref();
                let jacobian = engine.jacobian(&weights, &batch);
                let dense = LinearModel::new(rule, &settings, contexts, &trained, jacobian, &QUIET);
                let point = Point {
                    rule,
                    engine: &engine,
                    settings: &settings,
                    contexts,
                    trained: &trained,
                    weights: &weights,
                    // Many enough that each row of each environment is a part.
                    cost: Cost { weights: weights.len() / ENVIRONMENTS, evaluations: 1e9 },
                };
                let made = |run: &Run| {
                    let mut stream = Stream::new(1, "signs", &[]);
                    MatrixFree::new(point, &batch, &mut stream, run)
                        .map(|model| (model.squares(), model.mean_diagonal(), model.step(damping, None).unwrap()))
                };
                let interrupt = Interrupt::new();
                interrupt.request(2);
                assert!(made(&Run { observer: &Silent, interrupt: &interrupt }).is_none());
                let (squares, diagonal, step) = with_threads(1, || made(&Run::silent()).unwrap());
                assert_relative_eq!(squares, dense.squares(), max_relative = 1e-12);
                // Eight random signs know the trace to some tens of percent.
                assert!((0.3..3.0).contains(&(diagonal / dense.mean_diagonal())), "{name}: {diagonal}");
                let expected = dense.step(damping, None).unwrap();
                assert_relative_eq!(step.trained.as_slice(), expected.trained.as_slice(), epsilon = 1e-8);
                assert_relative_eq!(step.decrease, expected.decrease, max_relative = 1e-7);
                let (_, _, again) = with_threads(3, || made(&Run::silent()).unwrap());
                assert!(again.trained == step.trained, "{name}: bits depend on the number of threads");
            }
        }
    });
}

#[test]
fn tensors_hold_each_shared_value_once_under_names_of_their_own() {
    for_all(|name, case| {
        let tensors = case.rule.tensors(&layout());
        let mut indices: Vec<usize> = tensors.iter().flat_map(|tensor| tensor.indices.clone()).collect();
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..case.shared.len()), "{name}");
        let mut names: Vec<&str> = tensors.iter().map(|tensor| tensor.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{name}: {names:?}");
        let sized = tensors.iter().all(|tensor| tensor.indices.len() == tensor.shape.iter().product::<usize>());
        assert!(sized, "{name}");
    });
}

/// Adam, then Gauss-Newton over two blocks of residuals.
const SHORT: &str = r#"
    model = { kind = "mlp", layers = 3, width = 8 }
    precision = "f64"
    steps = 30
    learning_rate = 0.01
    validate_every = 5
    gauss_newton = { steps = 6, locality_penalty = 1e-7, context_penalty = 1e-6 }
"#;

/// Trains with every rule that settings can name: alike on any number of threads, read as it was written; then the contexts that made
/// trajectories of the model itself are found.
#[test]
fn every_rule_trains_is_stored_and_finds_known_contexts() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.owns_weights()) {
        let settings = paramill::train::Settings { rule: kind, ..train_settings(SHORT) };
        let directory = |threads: usize| root.path().join(format!("{kind:?}/{threads}/model"));
        let trained = with_threads(1, || train(&settings, &dataset, &directory(1)).unwrap());
        with_threads(3, || train(&settings, &dataset, &directory(3)).unwrap());
        assert!(files(&directory(1)) == files(&directory(3)), "{kind:?}: bytes depend on the number of threads");
        let (first, last) = (&trained.log[0], trained.log.last().unwrap());
        assert!(last.step > 30 && last.train < 0.5 * first.train, "{kind:?}: {first:?}, {last:?}");

        let model = StoredModel::read(&directory(1)).unwrap();
        assert_eq!((&model.shared, &model.contexts), (&trained.shared, &trained.contexts), "{kind:?}");
        let adapted = estimate::Settings { tolerance: 1e-8, ..estimate::Settings::default() };
        let adapter = Adapter::new(&adapted, NATIVE, &model).unwrap();
        let spread = model.contexts.iter().fold(0.0_f64, |most, xi| most.max(xi.abs()));
        let known = [[0.5 * spread, -0.3 * spread], [-0.2 * spread, 0.4 * spread]];
        let supports: Vec<Support> = known.iter().map(|context| rolled_out(&model, context)).collect();
        for (context, found) in known.iter().zip(adapter.adapt(&supports)) {
            assert_eq!(found.status, Status::Ok, "{kind:?}: {}", found.reason);
            let off = context.iter().zip(&found.context).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-5 * spread, "{kind:?}: {context:?}, found {:?}", found.context);
        }
        descends_as_its_gradient_says(kind, &model, &adapted, &supports);
    }
}

/// Steps of gradient descent, against the engine's gradient by the weights, pulled back by the rule.
fn descends_as_its_gradient_says(kind: Kind, model: &StoredModel, settings: &estimate::Settings, supports: &[Support]) {
    let (rule, (engine, _)) = (model.rule(), model.engine(NATIVE).unwrap());
    assert_eq!(rule.context_fit(), ContextFit::GaussNewton);
    let (steps, rate) = (5, 1e-3);
    let adapter = Adapter::new(settings, NATIVE, model).unwrap();
    let found = adapter.with_context_fit(ContextFit::GradientSteps { steps, rate }).adapt(supports);
    for (support, found) in supports.iter().zip(found) {
        let segments =
            support.trajectories.iter().map(|it| Segment { times: &it.times, states: &it.states, inputs: &[] });
        let batch = Batch::new(2, &[], &[segments.collect()], (0, 0));
        let mut context = rule.initial_context();
        let mut losses = Vec::new();
        for _ in 0..steps {
            let mut weights = vec![0.0; model.model().layout().size()];
            rule.decode(&model.shared, &context, &mut weights);
            let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
            let (mut d_shared, mut d_context) = (vec![0.0; model.shared.len()], vec![0.0; context.len()]);
            rule.pull_back(&model.shared, &context, &gradient, &mut d_shared, &mut d_context);
            for (xi, d) in context.iter_mut().zip(d_context) {
                *xi -= rate * (d + 2.0 * settings.context_penalty * *xi);
            }
            losses.push(loss);
        }
        assert_eq!((found.status, found.iterations), (Status::Ok, steps), "{kind:?}: {}", found.reason);
        assert!(losses.is_sorted_by(|before, after| after < before), "{kind:?}: {losses:?}");
        for (one, other) in found.context.iter().zip(&context) {
            assert_relative_eq!(one, other, max_relative = 1e-4);
        }
    }
    let adapter = Adapter::new(settings, NATIVE, model).unwrap();
    let far = adapter.with_context_fit(ContextFit::GradientSteps { steps, rate: 1e300 }).adapt(supports);
    assert!(far.iter().all(|it| it.status == Status::Diverged && it.context[0].is_nan()), "{kind:?}");
}

/// Trains with every rule whose environments own weights: alike on any number of threads, read as it was written. Adaptation to a new
/// environment leaves what is shared alone, goes down, and is the step that the rule names, or where no step goes further down.
#[test]
fn every_rule_whose_environments_own_weights_trains_is_stored_and_adapts() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    for kind in Kind::ALL.into_iter().filter(|kind| kind.owns_weights()) {
        let mut settings = paramill::train::Settings { rule: kind, ..train_settings(SHORT) };
        if kind.trains_through_adaptation() {
            settings.gauss_newton.steps = 0;
            settings.steps = 60;
            settings.inner_rate = 0.01;
        }
        let directory = |threads: usize| root.path().join(format!("{kind:?}/{threads}/model"));
        let trained = with_threads(1, || train(&settings, &dataset, &directory(1)).unwrap());
        with_threads(3, || train(&settings, &dataset, &directory(3)).unwrap());
        assert!(files(&directory(1)) == files(&directory(3)), "{kind:?}: bytes depend on the number of threads");
        let (first, last) = (&trained.log[0], trained.log.last().unwrap());
        // One model of all environments can only be their mean.
        let share = if kind == Kind::Erm { 1.5 } else { 0.7 };
        assert!(last.train < share * first.train, "{kind:?}: {first:?}, {last:?}");

        let model = StoredModel::read(&directory(1)).unwrap();
        assert_eq!((&model.shared, &model.contexts), (&trained.shared, &trained.contexts), "{kind:?}");
        let rule = model.rule();
        assert_eq!(model.own_values().map(<[f64]>::len).collect::<Vec<_>>(), vec![rule.context_size(); 4], "{kind:?}");
        let settings = estimate::Settings { context_penalty: 0.0, ..estimate::Settings::default() };
        let adapter = Adapter::new(&settings, NATIVE, &model).unwrap();
        let observed = dataset.read(Split::Validation).unwrap();
        let support = Support { trajectories: observed[..1].to_vec() };
        let found = adapter.adapt(std::slice::from_ref(&support)).remove(0);
        assert!(matches!(found.status, Status::Ok | Status::NotConverged), "{kind:?}: {}", found.reason);

        let (engine, _) = model.engine(NATIVE).unwrap();
        let segments =
            support.trajectories.iter().map(|it| Segment { times: &it.times, states: &it.states, inputs: &[] });
        let batch = Batch::new(2, &[], &[segments.collect()], (0, 0));
        let loss_and_gradient = |context: &[f64]| {
            let trained = [&model.shared[..], context].concat();
            let weights = decode_all(rule.as_ref(), &trained, 1, layout_of(&model).size());
            let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
            let gradient = pull_back_all(rule.as_ref(), &trained, &gradient, layout_of(&model).size());
            (loss, gradient[model.shared.len()..].to_vec())
        };
        let (before, at_start) = loss_and_gradient(&rule.initial_context());
        let (after, at_end) = loss_and_gradient(&found.context);
        match rule.context_fit() {
            ContextFit::GradientSteps { steps, rate } => {
                assert_eq!(steps, 1);
                let step: Vec<f64> = at_start.iter().map(|g| -rate * g).collect();
                assert_relative_eq!(found.context.as_slice(), step.as_slice(), epsilon = 1e-9, max_relative = 1e-6);
                // Rates that are learned are for as many trajectories as training had.
                assert!(after < before || kind == Kind::MetaSgd, "{kind:?}: {before} to {after}");
            }
            ContextFit::GaussNewton if rule.context_size() == 0 => assert_eq!(before, after),
            ContextFit::GaussNewton => {
                let length = |gradient: &[f64]| dot(gradient, gradient).sqrt();
                assert!(after < 0.1 * before, "{kind:?}: {before} to {after}");
                assert!(length(&at_end) < 0.05 * length(&at_start), "{kind:?}");
            }
        }
    }
}

fn layout_of(model: &StoredModel) -> Layout {
    model.model().layout().clone()
}

/// A context of zero is one model of all environments: for LEADS the shared network alone, whatever the other half holds.
#[test]
fn a_context_of_zero_is_the_shared_model() {
    for_all(|name, case| {
        let zero = vec![0.0; case.rule.context_size()];
        assert_eq!(case.rule.initial_context(), zero, "{name}");
    });
    let (wide, half) = (Mlp::new(2, 0, 3, 8), Mlp::new(2, 0, 3, 4));
    let rule = Kind::Leads.build(wide.layout(), shape(AdaptedLayers::All));
    let mut stream = Stream::new(5, "leads", &[]);
    let shared = rule.initial_shared(wide.initial_weights(&mut stream), 0.1, &mut stream);
    assert_eq!(shared.len(), half.layout().size(), "the shared half is a network of half the width");
    let mut weights = vec![0.0; wide.layout().size()];
    rule.decode(&shared, &vec![0.0; rule.context_size()], &mut weights);
    let (times, states) = ([0.0, 0.3, 0.5], [0.4, -0.9].repeat(3));
    let batch = Batch::new(2, &[], &[vec![Segment { times: &times, states: &states, inputs: &[] }]], (0, 0));
    let predicted =
        |model: &Mlp, weights: &[f64]| Native::<f64>::new(model, Solver::Euler.tableau(1)).predict(weights, &batch);
    let (of_sum, of_shared) = (predicted(&wide, &weights), predicted(&half, &shared));
    assert_relative_eq!(of_sum.as_slice(), of_shared.as_slice(), max_relative = 1e-12);
    let context = normal(&mut stream, rule.context_size());
    rule.decode(&shared, &context, &mut weights);
    let moved = predicted(&wide, &weights);
    assert!(moved.iter().zip(&of_shared).all(|(a, b)| (a - b).abs() > 1e-6), "the other half is the environment's");
}

/// The pool is all that tells NCF from the network with the context among its inputs.
#[test]
fn expansions_about_others_are_what_training_of_ncf_sees() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let trained = |rule: &str, pool: &str| {
        let settings = format!("rule = \"{rule}\"\npool = {pool}\n{}", SHORT.replace("steps = 6", "steps = 0"));
        train(&train_settings(&settings), &dataset, &root.path().join("model")).unwrap()
    };
    let concat = trained("cavia-concat", "{}");
    let alone = trained("ncf", "{ neighbours = 0 }");
    assert_eq!((&alone.shared, &alone.contexts), (&concat.shared, &concat.contexts));
    let nearest = trained("ncf", "{ neighbours = 1 }");
    let drawn = trained("ncf", "{ neighbours = 1, choice = \"random\" }");
    assert!(nearest.shared != alone.shared && drawn.shared != nearest.shared);
    for model in [&nearest, &drawn] {
        let (first, last) = (&model.log[0], model.log.last().unwrap());
        assert!(last.train < 0.7 * first.train, "{first:?}, {last:?}");
    }
}

/// Three trajectories of the model itself at a context.
fn rolled_out(model: &StoredModel, context: &[f64]) -> Support {
    let (engine, _) = model.engine(NATIVE).unwrap();
    let mut weights = vec![0.0; model.model().layout().size()];
    model.rule().decode(&model.shared, context, &mut weights);
    let times: Vec<f64> = (0..15).map(|t| f64::from(t) * 0.5).collect();
    let one = |b: usize| {
        let start = [1.0 + 0.5 * b as f64, 2.0 - 0.4 * b as f64];
        let states = start.repeat(times.len());
        let batch = Batch::new(2, &[], &[vec![Segment { times: &times, states: &states, inputs: &[] }]], (0, 0));
        Trajectory {
            environment: "known".to_owned(),
            trajectory: b.to_string(),
            parameters: Vec::new(),
            times: times.clone(),
            states: start.into_iter().chain(engine.predict(&weights, &batch)).collect(),
            inputs: Vec::new(),
        }
    };
    Support { trajectories: (0..3).map(one).collect() }
}

#[test]
fn a_rule_that_says_where_the_context_enters_leaves_no_choice_of_layers() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    assert!(!dataset.index(Split::Train).unwrap().is_empty());
    for kind in [Kind::CaviaConcat, Kind::CaviaFilm] {
        let adapted_layers = AdaptedLayers::Last;
        let settings = paramill::train::Settings { rule: kind, adapted_layers, ..train_settings(SHORT) };
        let error = train(&settings, &dataset, &root.path().join("model")).err().unwrap().to_string();
        assert!(error.contains("train.adapted_layers") && error.contains("\"last\""), "{error}");
    }
}
