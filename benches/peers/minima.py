"""Fits of known truth: how many of Paramill's `ok` rows are wrong, and how many fits that SciPy's multistart solves are `ok`.

    python benches/peers/minima.py target/release/paramill [fits a family] [directory] [fits of them by SciPy too]

Families are stiff, oscillating, and with several minima. Each fit has parameters, an initial state and noise of its own. A row is wrong if
a parameter lies beyond five of its standard errors; SciPy has solved a fit if the best of its starts is within five of its own.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np
from scipy.integrate import odeint
from scipy.optimize import least_squares
from scipy.stats import qmc

STARTS = 8

FAMILIES = {
    "lotka": {
        "states": {"x": "alpha*x - beta*x*y", "y": "delta*x*y - gamma*y"},
        "field": lambda s, t, p: [p[0] * s[0] - p[1] * s[0] * s[1], p[3] * s[0] * s[1] - p[2] * s[1]],
        "parameters": {"alpha": (0.05, 5), "beta": (0.05, 5), "gamma": (0.05, 5), "delta": (0.05, 5)},
        "truth": [(0.4, 0.8), (0.4, 1.2), (0.4, 0.8), (0.4, 1.2)],
        "initial": [(1, 3), (1, 3)], "noise": [0.03, 0.03], "times": np.arange(0, 12, 0.4),
    },
    "vanderpol": {
        "states": {"x": "y", "y": "mu*(1-x^2)*y - w*x"},
        "field": lambda s, t, p: [s[1], p[0] * (1 - s[0] ** 2) * s[1] - p[1] * s[0]],
        "parameters": {"mu": (0.5, 200), "w": (0.1, 10)},
        "truth": [(2, 10), (0.7, 1.5)],
        "initial": [(1.5, 2), (-0.5, 0.5)], "noise": [0.01, 0.01], "times": np.linspace(0, 20, 80),
    },
    "oral": {
        "states": {"c": "320/volume*absorption*exp(-absorption*t) - elimination*c"},
        "field": lambda s, t, p: [320 / p[2] * p[0] * np.exp(-p[0] * t) - p[1] * s[0]],
        "parameters": {"absorption": (0.05, 20), "elimination": (0.005, 1), "volume": (1, 500)},
        "truth": [(0.8, 3), (0.05, 0.2), (30, 100)],
        "initial": [(0, 0)], "noise": [0.05], "times": np.array([0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24]),
    },
    "fitzhugh": {
        "states": {"v": "c*(v - v^3/3 + r)", "r": "-(v - a + b*r)/c"},
        "field": lambda s, t, p: [p[2] * (s[0] - s[0] ** 3 / 3 + s[1]), -(s[0] - p[0] + p[1] * s[1]) / p[2]],
        "parameters": {"a": (0.01, 2), "b": (0.01, 2), "c": (0.5, 20)},
        "truth": [(0.1, 0.3), (0.1, 0.3), (2, 4)],
        "initial": [(-1.2, -0.8), (0.8, 1.2)], "noise": [0.05, 0.05], "times": np.linspace(0, 20, 60),
    },
    "oscillator": {
        "states": {"x": "v", "v": "-w^2*x - damping*v"},
        "field": lambda s, t, p: [s[1], -p[0] ** 2 * s[0] - p[1] * s[1]],
        "parameters": {"w": (0.1, 50), "damping": (0.001, 5)},
        "truth": [(2, 12), (0.05, 0.3)],
        "initial": [(1, 2), (-1, 1)], "noise": [0.05, 0.3], "times": np.linspace(0, 10, 100),
    },
    "stiff": {
        "states": {"a": "-k1*a + k2*b", "b": "k1*a - k2*b - k3*b^2"},
        "field": lambda s, t, p: [-p[0] * s[0] + p[1] * s[1], p[0] * s[0] - p[1] * s[1] - p[2] * s[1] ** 2],
        "parameters": {"k1": (0.1, 1e3), "k2": (0.1, 1e4), "k3": (0.1, 1e4)},
        "truth": [(5, 20), (50, 200), (20, 100)],
        "initial": [(1, 1), (0, 0)], "noise": [0.005, 0.0005], "times": np.concatenate([[0], np.geomspace(1e-3, 5, 39)]),
    },
    "tanks": {
        "states": {"h1": "inflow - r1*sqrt(abs(h1))", "h2": "r1*sqrt(abs(h1)) - r2*sqrt(abs(h2))"},
        "field": lambda s, t, p: [
            p[0] - p[1] * np.sqrt(abs(s[0])), p[1] * np.sqrt(abs(s[0])) - p[2] * np.sqrt(abs(s[1]))],
        "parameters": {"inflow": (0.001, 10), "r1": (0.001, 10), "r2": (0.001, 10)},
        "truth": [(0.02, 0.1), (0.05, 0.2), (0.05, 0.2)],
        "initial": [(0.5, 2), (0.5, 2)], "noise": [0.01, 0.01], "times": np.linspace(0, 60, 50),
    },
}


def simulate(family, parameters, initial):
    times = family["times"]
    early = times[0] > 0 and all(low == high for low, high in family["initial"])
    grid = np.concatenate([[0.0], times]) if early else times
    states = odeint(family["field"], initial, grid, args=(parameters,), rtol=1e-10, atol=1e-12, mxstep=50000)
    return states[1:] if early else states


def write(name, family, count, directory):
    draw = np.random.default_rng(sum(map(ord, name)))
    between = lambda bounds: np.array([draw.uniform(*pair) for pair in bounds])
    cases = []
    with open(f"{directory}/{name}.csv", "w") as table:
        table.write("id,t," + ",".join(family["states"]) + "\n")
        for case in range(count):
            truth, initial = between(family["truth"]), between(family["initial"])
            observed = simulate(family, truth, initial)
            observed = observed + draw.normal(size=observed.shape) * family["noise"]
            cases.append((f"c{case:03}", truth, observed))
            for time_, state in zip(family["times"], observed):
                table.write(f"c{case:03},{float(time_)!r}," + ",".join(repr(float(value)) for value in state) + "\n")
    states = ",\n".join(
        f'{{ name = "{state}", derivative = "{derivative}", initial = [{low}, {high}] }}'
        for (state, derivative), (low, high) in zip(family["states"].items(), family["initial"]))
    parameters = ",\n".join(
        f'{{ name = "{it}", lower = {low}, upper = {high} }}' for it, (low, high) in family["parameters"].items())
    channels = ", ".join(f'{{ column = "{it}", name = "{it}", unit = "1" }}' for it in family["states"])
    with open(f"{directory}/{name}.toml", "w") as pipeline:
        pipeline.write(f"""[import]
dataset = "{name}"
directory = "."
time_unit = "1"
table = {{ file = "{name}.csv", environment = "id", time = "t" }}
channels = [{channels}]
splits = {{ adapt = ["*"] }}
[estimate]
method = "physics"
splits = ["adapt"]
[estimate.physics.system]
name = "{name}"
horizon = 1.0
time_step = 0.1
states = [{states}]
parameters = [{parameters}]
""")
    return cases


def scipy_fit(family, observed):
    lower, upper = (np.log([pair[end] for pair in family["parameters"].values()]) for end in (0, 1))
    free = [i for i, (low, high) in enumerate(family["initial"]) if low != high]
    given = np.array([low for low, _ in family["initial"]], float)
    scale = observed.std(axis=0) + 1e-12

    def residuals(unknowns):
        initial = given.copy()
        initial[free] = unknowns[len(lower):]
        with np.errstate(all="ignore"):
            try:
                states = simulate_quietly(family, np.exp(unknowns[:len(lower)]), initial)
            except Exception:
                return np.full(observed.size, 1e6)
        found = ((states - observed) / scale).ravel()
        return np.where(np.isfinite(found), found, 1e6)

    best = None
    for share in qmc.Halton(len(lower), scramble=False).random(STARTS + 1)[1:]:
        start = np.concatenate([lower + share * (upper - lower), observed[0, free]])
        ends = np.concatenate([lower, np.full(len(free), -np.inf)]), np.concatenate([upper, np.full(len(free), np.inf)])
        try:
            fit = least_squares(residuals, start, bounds=ends, x_scale="jac", max_nfev=60)
        except Exception:
            continue
        if best is None or fit.cost < best.cost:
            best = fit
    degrees = observed.size - len(best.x)
    covariance = np.linalg.pinv(best.jac.T @ best.jac) * 2 * best.cost / degrees
    values = np.exp(best.x[:len(lower)])
    return values, values * np.sqrt(np.diag(covariance))[:len(lower)]


def simulate_quietly(family, parameters, initial):
    times = family["times"]
    early = times[0] > 0 and all(low == high for low, high in family["initial"])
    grid = np.concatenate([[0.0], times]) if early else times
    states, info = odeint(
        family["field"], initial, grid, args=(parameters,), rtol=1e-8, atol=1e-10, mxstep=5000, full_output=True,
        printmessg=False)
    if info["message"] != "Integration successful.":
        raise ArithmeticError
    return states[1:] if early else states


def main():
    binary = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 72
    directory = sys.argv[3] if len(sys.argv) > 3 else "runs/minima"
    of_scipy = int(sys.argv[4]) if len(sys.argv) > 4 else count
    os.makedirs(directory, exist_ok=True)
    total = np.zeros(5, int)
    print("family        fits    ok  wrong  solved by scipy  ok of these   seconds, scipy's")
    for name, family in FAMILIES.items():
        cases = write(name, family, count, directory)
        begin = time.perf_counter()
        subprocess.run([binary, "run", f"{name}.toml", "--quiet", "--workspace", name], cwd=directory, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        import pyarrow.parquet
        rows = {row["environment"]: row for row in pyarrow.parquet.read_table(f"{directory}/{name}/estimates/adapt.parquet").to_pylist()}
        begin = time.perf_counter()
        figures, statuses = np.zeros(5, int), {}
        for case, truth, observed in cases:
            row = rows[case]
            names = list(family["parameters"])
            ok = row["status"] == "ok"
            statuses[row["status"]] = statuses.get(row["status"], 0) + 1
            wrong = ok and any(abs(row[it] - value) > 5 * row[f"{it}_standard_error"] for it, value in zip(names, truth))
            if wrong:
                print("   wrong:", case, [(it, row[it], row[f"{it}_standard_error"], value) for it, value in zip(names, truth)])
            solved = False
            if int(case[1:]) < of_scipy:
                values, errors = scipy_fit(family, observed)
                solved = bool(np.all(np.abs(values - truth) < 5 * errors))
            if solved and not ok:
                print("   not ok:", case, row["status"], row["reason"][:150])
            figures += [1, ok, wrong, solved, solved and ok]
        total += figures
        print(f"{name:12} {figures[0]:5} {figures[1]:5} {figures[2]:6} {figures[3]:16} {figures[4]:12} {seconds:9.1f} {time.perf_counter() - begin:8.1f}  {json.dumps(statuses)}", flush=True)
    print(f"{'all':12} {total[0]:5} {total[1]:5} {total[2]:6} {total[3]:16} {total[4]:12}")


if __name__ == "__main__":
    main()
