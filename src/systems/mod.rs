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

pub use system::{
    Axis, Channel, Dynamics, EnvironmentSet, InitialLaw, Integrate, Parameter, Preset, SpaceAxis, Stepper, System,
    TangentField, VectorField,
};

pub use equations::{Equations, InputSignal, ParameterBounds, Range, StateEquation, Values};

pub use sensitivities::{Sensitivities, Start};

/// Every built-in system, in alphabetical order of names.
pub fn all() -> &'static [&'static System] {
    &ALL
}

static ALL: [&System; 5] = [
    &glycolytic_oscillator::GLYCOLYTIC_OSCILLATOR,
    &gray_scott::GRAY_SCOTT,
    &lotka_volterra::LOTKA_VOLTERRA,
    &lotka_volterra_4::LOTKA_VOLTERRA_4,
    &navier_stokes::NAVIER_STOKES,
];

/// The built-in system of that name.
pub fn find(name: &str) -> Option<&'static System> {
    all().iter().copied().find(|system| system.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_is_consistent() {
        for system in all() {
            assert!(system.time_step > 0.0 && system.time_step < system.horizon, "{}", system.name);
            assert!(!system.presets.is_empty(), "{}", system.name);
            for preset in system.presets {
                for set in preset.environments {
                    assert_eq!(set.axes.len(), system.parameters.len(), "{} {}", system.name, set.name);
                    for index in 0..set.len() {
                        for (value, parameter) in set.parameters(index).iter().zip(system.parameters) {
                            let inside = (parameter.lower..=parameter.upper).contains(value);
                            assert!(inside, "{} {} {index}: {} = {value}", system.name, set.name, parameter.name);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_in_order_and_found() {
        let names: Vec<&str> = all().iter().map(|system| system.name).collect();
        assert!(names.is_sorted());
        for name in names {
            assert_eq!(find(name).map(|system| system.name), Some(name));
        }
        assert!(find("lotka").is_none());
    }
}
