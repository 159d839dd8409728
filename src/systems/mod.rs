//! Dynamical systems: the built-in ones, one file each and one line in `builtin.rs`, and those that a user states as [`Equations`].
//!
//! A [`System`] owns all it is made of and is shared by [`Arc`](std::sync::Arc): a compiled one is freed with its last owner.

pub(crate) mod system;
pub(crate) mod equations;
pub(crate) mod text;
pub(crate) mod doses;
pub(crate) mod repeated;
pub(crate) mod rest;
pub(crate) mod validate;
pub(crate) mod compile;
pub(crate) mod directions;
pub(crate) mod sensitivities;
pub(crate) mod simulator;
pub(crate) mod random_field;
pub(crate) mod vorticity;
pub(crate) mod glycolytic_oscillator;
pub(crate) mod gray_scott;
pub(crate) mod lotka_volterra;
pub(crate) mod lotka_volterra_4;
pub(crate) mod navier_stokes;
pub(crate) mod builtin;
pub(crate) mod settings;
pub use builtin::{all, find};
pub use directions::Start;
pub use equations::{
    Covariate, DoseEquation, Equations, FreeStart, InfusionEquation, InputSignal, OutputEquation, ParameterBounds,
    Range, StartSetting, StateEquation, Values,
};
pub(crate) use repeated::{Infused, Rise, longer_lag, wrong_way};
pub use sensitivities::Sensitivities;
pub use settings::SystemSettings;
pub use simulator::Simulator;
pub use system::{
    Axis, Channel, Differentiable, Dose, Doses, Dynamics, EnvironmentSet, Infusion, InitialDistribution, InitialValue,
    Integrate, Outputs, Parameter, Preset, Room, SpaceAxis, Stepper, System, TangentField, VectorField,
};
