//! The built-in systems: one file each, and one line here.

use std::sync::{Arc, LazyLock};

use super::system::System;
use super::{glycolytic_oscillator, gray_scott, lotka_volterra, lotka_volterra_4, navier_stokes};

/// Every built-in system, in alphabetical order of names.
pub fn all() -> &'static [Arc<System>] {
    &*ALL
}

static ALL: LazyLock<[Arc<System>; 5]> = LazyLock::new(|| {
    [
        glycolytic_oscillator::system(),
        gray_scott::system(),
        lotka_volterra::system(),
        lotka_volterra_4::system(),
        navier_stokes::system(),
    ]
    .map(Arc::new)
});

/// The built-in system of that name.
pub fn find(name: &str) -> Option<Arc<System>> {
    all().iter().find(|system| system.name == name).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_is_consistent() {
        for system in all() {
            assert!(system.time_step > 0.0 && system.time_step < system.horizon, "{}", system.name);
            assert!(!system.presets.is_empty(), "{}", system.name);
            for preset in &system.presets {
                for set in &preset.environments {
                    assert_eq!(set.axes.len(), system.parameters.len(), "{} {}", system.name, set.name);
                    for index in 0..set.len() {
                        for (value, parameter) in set.parameters(index).iter().zip(&system.parameters) {
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
        let names: Vec<&str> = all().iter().map(|system| system.name.as_str()).collect();
        assert!(names.is_sorted());
        for name in names {
            assert_eq!(find(name).unwrap().name, name);
        }
        assert!(find("lotka").is_none());
    }
}
