"""Writes sensitivities.json: derivatives of trajectories by parameters and initial states, by SciPy.

    python tests/reference/make_sensitivities.py          (SciPy 1.11 or later)

Complex steps: a parameter or an initial value is moved by 1e-30 i, and the imaginary part of the trajectory, integrated by
DOP853 at rtol = atol = 1e-13, is the derivative to rounding. Held against central differences of trajectories by the
implicit Radau of order 5; `disagreement` is the greatest difference of the two over the greatest derivative of the case.
"""

import json
import pathlib

import numpy as np
import scipy
from make import HIGH, MIDDLE, glycolytic_oscillator, lotka_volterra, lotka_volterra_4
from scipy.integrate import solve_ivp


def pendulum(time, state, gravity, friction, drive):
    angle, speed = state
    return [speed, -gravity * np.sin(angle) - friction * speed + drive * np.cos(2 * time)]


CASES = [  # system, field, sampling interval, parameters, initial state
    ("lotka-volterra", lotka_volterra, 0.5, (0.75, 1.0), (2.5, 1.25)),
    ("lotka-volterra", lotka_volterra, 0.5, (0.25, 1.25), (3.0, 1.0)),
    ("lotka-volterra-4", lotka_volterra_4, 0.5, (1.125, 0.625, 1.125, 1.125), (3.0, 1.0)),
    ("glycolytic-oscillator", glycolytic_oscillator, 0.05, (90.0, 0.75), MIDDLE),
    ("glycolytic-oscillator", glycolytic_oscillator, 0.05, (80.0, 0.5), HIGH),
    ("pendulum", pendulum, 0.25, (2.0, 0.1, 0.5), (1.0, 0.0)),
]
STEP = 1e-30


def states(field, times, values, d_p, method, tolerance):
    values = np.asarray(values)
    solution = solve_ivp(
        lambda t, y: np.array(field(t, y, *values[:d_p])),
        (0.0, times[-1]), values[d_p:], method, t_eval=times, rtol=tolerance, atol=tolerance,
    )
    assert solution.success, solution.message
    return solution.y.T


def case(system, field, step, parameters, initial):
    times, d_p = np.arange(20) * step, len(parameters)
    values = np.array([*parameters, *initial])
    by_all, differences = [], []
    for index, value in enumerate(values):
        complex_values = values.astype(complex)
        complex_values[index] += 1j * STEP
        by_all.append(states(field, times, complex_values, d_p, "DOP853", 1e-13).imag / STEP)
        h = 1e-4 * value if value else 1e-4
        moved = [states(field, times, values + sign * h * np.eye(len(values))[index], d_p, "Radau", 1e-11) for sign in (1, -1)]
        differences.append((moved[0] - moved[1]) / (2 * h))
    sensitivities = np.stack(by_all, axis=2)
    scale = np.abs(sensitivities).max(axis=(0, 1))
    disagreement = float((np.abs(sensitivities - np.stack(differences, axis=2)) / scale).max())
    print(system, disagreement)
    return {
        "system": system,
        "disagreement": disagreement,
        "times": times.tolist(),
        "parameters": list(parameters),
        "states": states(field, times, values, d_p, "DOP853", 1e-13).tolist(),
        "sensitivities": sensitivities.tolist(),
    }


if __name__ == "__main__":
    content = {
        "solver": f"scipy {scipy.__version__} DOP853, rtol = atol = 1e-13, complex steps",
        "cases": [case(*it) for it in CASES],
    }
    path = pathlib.Path(__file__).with_name("sensitivities.json")
    path.write_text(json.dumps(content).replace("[[[", "[[\n[").replace("]], [[", "]],\n[[") + "\n")
