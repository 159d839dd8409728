"""Writes NAME.json for each system of ordinary differential equations: trajectories by SciPy's DOP853 at rtol = atol = 1e-13.

    python tests/reference/make.py          (SciPy 1.11 or later)

Each is held against another method, the implicit Radau of order 5; `disagreement` is the greatest difference of the two.
"""

import json
import pathlib

import numpy as np
import scipy
from scipy.integrate import solve_ivp


def lotka_volterra(_, state, beta, delta):
    x, y = state
    return [0.5 * x - beta * x * y, delta * x * y - 0.5 * y]


def lotka_volterra_4(_, state, alpha, beta, gamma, delta):
    x, y = state
    return [alpha * x - beta * x * y, delta * x * y - gamma * y]


def glycolytic_oscillator(_, state, k1, inhibition):
    s1, s2, s3, s4, s5, s6, s7 = state
    v = k1 * s1 * s6 / (1 + (s6 / inhibition) ** 4)
    return [
        2.5 - v,
        2 * v - 6 * s2 * (1 - s5) - 12 * s2 * s5,
        6 * s2 * (1 - s5) - 16 * s3 * (4 - s6),
        16 * s3 * (4 - s6) - 100 * s4 * s5 - 13 * (s4 - s7),
        6 * s2 * (1 - s5) - 100 * s4 * s5 - 12 * s2 * s5,
        -2 * v + 2 * 16 * s3 * (4 - s6) - 1.28 * s6,
        0.1 * 13 * (s4 - s7) - 1.8 * s7,
    ]


LOW = [0.15, 0.19, 0.04, 0.10, 0.08, 0.14, 0.05]
HIGH = [1.60, 2.16, 0.20, 0.35, 0.30, 2.67, 0.10]
MIDDLE = [(low + high) / 2 for low, high in zip(LOW, HIGH)]
SYSTEMS = {  # field, sampling interval, (parameters, initial state) of each trajectory
    "lotka_volterra": (lotka_volterra, 0.5, [
        ((0.5, 0.5), (2.0, 1.0)),
        ((0.75, 1.0), (2.5, 1.25)),
        ((1.0, 0.5), (3.0, 3.0)),
        ((1.125, 0.625), (1.5, 2.75)),
        ((0.25, 1.25), (3.0, 1.0)),
        ((1.25, 1.25), (1.0, 3.0)),
    ]),
    "lotka_volterra_4": (lotka_volterra_4, 0.5, [
        ((0.5, 0.75, 0.5, 1.0), (2.5, 1.25)),
        ((1.0, 0.5, 0.5, 1.0), (3.0, 3.0)),
        ((0.5, 1.0, 1.0, 0.5), (1.0, 3.0)),
        ((1.125, 0.625, 1.125, 1.125), (3.0, 1.0)),
    ]),
    "glycolytic_oscillator": (glycolytic_oscillator, 0.05, [
        ((100.0, 1.0), MIDDLE),
        ((80.0, 0.5), LOW),
        ((90.0, 0.75), HIGH),
        ((85.0, 0.875), [low if i % 2 else high for i, (low, high) in enumerate(zip(LOW, HIGH))]),
        ((95.0, 0.625), [high if i % 2 else low for i, (low, high) in enumerate(zip(LOW, HIGH))]),
    ]),
}


def states(field, times, parameters, initial, method, tolerance):
    solution = solve_ivp(
        field, (0.0, times[-1]), initial, method, t_eval=times, args=parameters, rtol=tolerance, atol=tolerance
    )
    assert solution.success, solution.message
    return solution.y.T


def write(name, field, step, cases):
    times = np.arange(20) * step
    trajectories, disagreement = [], 0.0
    for parameters, initial in cases:
        explicit = states(field, times, parameters, initial, "DOP853", 1e-13)
        implicit = states(field, times, parameters, initial, "Radau", 1e-11)
        disagreement = max(disagreement, float(np.abs(explicit - implicit).max()))
        trajectories.append({"parameters": parameters, "states": explicit.tolist()})
    content = {
        "solver": f"scipy {scipy.__version__} DOP853, rtol = atol = 1e-13",
        "disagreement": disagreement,
        "times": times.tolist(),
        "trajectories": trajectories,
    }
    path = pathlib.Path(__file__).with_name(f"{name}.json")
    path.write_text(json.dumps(content).replace("[[", "[\n[").replace("], [", "],\n[") + "\n")
    print(name, disagreement)


if __name__ == "__main__":
    for name, (field, step, cases) in SYSTEMS.items():
        write(name, field, step, cases)
