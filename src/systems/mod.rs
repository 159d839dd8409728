//! The systems that can be simulated: the built-in ones, one file each and one line in `ALL`, and those that a user gives by
//! their [`Equations`].

pub(crate) mod system;
pub(crate) mod equations;
pub(crate) mod validate;
pub(crate) mod sensitivities;
pub(crate) mod fourier;
pub(crate) mod random_field;
pub(crate) mod vorticity;
pub(crate) mod glycolytic_oscillator;
pub(crate) mod gray_scott;
pub(crate) mod lotka_volterra;
pub(crate) mod lotka_volterra_4;
pub(crate) mod navier_stokes;
pub(crate) mod builtin;
pub(crate) mod settings;

pub use system::{
    Axis, Channel, Dynamics, EnvironmentSet, InitialLaw, Integrate, Parameter, Preset, SpaceAxis, Stepper, System,
    TangentField, VectorField,
};

pub use equations::{Equations, InputSignal, ParameterBounds, Range, StateEquation, Values};

pub use sensitivities::{Sensitivities, Start};

pub use builtin::{all, find};

pub use settings::SystemSettings;
