"""Writes lotka_volterra.json: trajectories of Lotka-Volterra by SciPy's DOP853 at rtol = atol = 1e-13.

    python tests/reference/make_lv.py          (SciPy 1.11 or later)
"""

import json
import pathlib

import numpy as np
import scipy
from scipy.integrate import solve_ivp

TIMES = np.arange(20) * 0.5
CASES = [  # beta, delta, x0, y0
    (0.5, 0.5, 2.0, 1.0),
    (0.75, 1.0, 2.5, 1.25),
    (1.0, 0.5, 3.0, 3.0),
    (1.125, 0.625, 1.5, 2.75),
    (0.25, 1.25, 3.0, 1.0),
    (1.25, 1.25, 1.0, 3.0),
]


def field(_, state, beta, delta):
    x, y = state
    return [0.5 * x - beta * x * y, delta * x * y - 0.5 * y]


def trajectory(beta, delta, x0, y0):
    solution = solve_ivp(
        field, (0.0, TIMES[-1]), [x0, y0], "DOP853", t_eval=TIMES, args=(beta, delta), rtol=1e-13, atol=1e-13
    )
    assert solution.success, solution.message
    return {"beta": beta, "delta": delta, "states": solution.y.T.tolist()}


if __name__ == "__main__":
    content = {
        "solver": f"scipy {scipy.__version__} DOP853, rtol = atol = 1e-13",
        "times": TIMES.tolist(),
        "trajectories": [trajectory(*case) for case in CASES],
    }
    path = pathlib.Path(__file__).with_name("lotka_volterra.json")
    path.write_text(json.dumps(content).replace("[[", "[\n[").replace("], [", "],\n[") + "\n")
