"""Stiff fits of known truth: seconds of CPU a fit, beside SciPy's least squares with its own stiff solvers, on one core.

    python benches/peers/stiff.py target/release/paramill [fits a problem] [directory] [fits of them by SciPy too]

The first fit of each problem is of exact data, the others have noise of a hundredth of each channel's spread. Paramill is given bounds and
nothing else; SciPy starts in their middle (in logarithms) alone, with LSODA and with Radau. A fit is
right if every parameter lies within five of its standard errors, or of exact data within a hundredth of a percent.
"""

import os
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

HIRES = {
    "y1": "-k1*y1 + k2*y2 + k6*y3 + 0.0007",
    "y2": "k1*y1 - (k2 + k3)*y2",
    "y3": "-(k6 + k1)*y3 + k2*y4 + k5*y5",
    "y4": "k3*y2 + k1*y3 - (k2 + k4)*y4",
    "y5": "-(k1 + k5)*y5 + k2*y6 + k2*y7",
    "y6": "-kp*y6*y8 + k4*y4 + k1*y5 - k2*y6 + k4*y7",
    "y7": "kp*y6*y8 - (k2 + 2*k4)*y7",
    "y8": "-kp*y6*y8 + (k2 + 2*k4)*y7",
}

PROBLEMS = {
    "robertson": {
        "states": {"a": "-k1*a + k3*b*c", "b": "k1*a - k2*b^2 - k3*b*c", "c": "k2*b^2"},
        "field": lambda t, s, k1, k2, k3: (
            -k1 * s[0] + k3 * s[1] * s[2], k1 * s[0] - k2 * s[1] ** 2 - k3 * s[1] * s[2], k2 * s[1] ** 2),
        "parameters": {"k1": (1e-3, 1), "k2": (1e6, 1e9), "k3": (1e3, 1e5)}, "truth": [0.04, 3e7, 1e4],
        "initial": [1, 0, 0], "times": np.concatenate([[0], np.geomspace(1e-5, 1e11, 60)]),
    },
    "vanderpol": {
        "states": {"x": "y", "y": "mu*(1 - x^2)*y - x"},
        "field": lambda t, s, mu: (s[1], mu * (1 - s[0] ** 2) * s[1] - s[0]),
        "parameters": {"mu": (50, 5000)}, "truth": [1000],
        "initial": [2, 0], "times": np.linspace(0, 2000, 201),
    },
    "hires": {
        "states": HIRES,
        "field": lambda t, s, k1, k2, k3, k4, k5, k6, kp: (
            -k1 * s[0] + k2 * s[1] + k6 * s[2] + 0.0007,
            k1 * s[0] - (k2 + k3) * s[1],
            -(k6 + k1) * s[2] + k2 * s[3] + k5 * s[4],
            k3 * s[1] + k1 * s[2] - (k2 + k4) * s[3],
            -(k1 + k5) * s[4] + k2 * s[5] + k2 * s[6],
            -kp * s[5] * s[7] + k4 * s[3] + k1 * s[4] - k2 * s[5] + k4 * s[6],
            kp * s[5] * s[7] - (k2 + 2 * k4) * s[6],
            -kp * s[5] * s[7] + (k2 + 2 * k4) * s[6]),
        "parameters": {"k1": (0.1, 20), "k2": (0.05, 5), "k3": (1, 80), "k4": (0.05, 7), "k5": (0.003, 0.3),
                       "k6": (1, 80), "kp": (30, 3000)},
        "truth": [1.71, 0.43, 8.32, 0.69, 0.035, 8.32, 280],
        "initial": [1, 0, 0, 0, 0, 0, 0, 0.0057], "times": np.concatenate([[0], np.geomspace(1e-3, 321.8122, 60)]),
    },
    "oregonator": {
        "states": {"x": "s*(y + x*(1 - q*x - y))", "y": "(z - (1 + x)*y)/s", "z": "w*(x - z)"},
        "field": lambda t, u, s, q, w: (
            s * (u[1] + u[0] * (1 - q * u[0] - u[1])), (u[2] - (1 + u[0]) * u[1]) / s, w * (u[0] - u[2])),
        "parameters": {"s": (10, 500), "q": (1e-6, 1e-4), "w": (0.02, 1)}, "truth": [77.27, 8.375e-6, 0.161],
        "initial": [1, 2, 3], "times": np.linspace(0, 360, 181),
    },
}


def simulate(problem, parameters, method="Radau", rtol=1e-11, small=1e-14):
    times = problem["times"]
    atol = small * np.array(problem.get("sizes", np.ones(len(problem["initial"]))))
    found = solve_ivp(
        problem["field"], (times[0], times[-1]), problem["initial"], method, times, args=tuple(parameters), rtol=rtol, atol=atol)
    if not found.success:
        raise ArithmeticError(found.message)
    return found.y.T


def write(name, problem, count, directory):
    draw = np.random.default_rng(sum(map(ord, name)))
    exact = simulate(problem, problem["truth"])
    problem["sizes"] = exact.std(axis=0)
    cases = []
    with open(f"{directory}/{name}.csv", "w") as table:
        table.write("id,t," + ",".join(problem["states"]) + "\n")
        for case in range(count):
            noise = 0.01 * exact.std(axis=0) * (case > 0)
            observed = exact + draw.normal(size=exact.shape) * noise
            cases.append(observed)
            for time_, state in zip(problem["times"], observed):
                table.write(f"c{case:03},{float(time_)!r}," + ",".join(repr(float(value)) for value in state) + "\n")
    states = ",\n".join(
        f'{{ name = "{state}", derivative = "{derivative}", initial = [{value}, {value}] }}'
        for (state, derivative), value in zip(problem["states"].items(), map(float, problem["initial"])))
    parameters = ",\n".join(
        f'{{ name = "{it}", lower = {float(low)!r}, upper = {float(high)!r} }}'
        for it, (low, high) in problem["parameters"].items())
    channels = ", ".join(f'{{ column = "{it}", name = "{it}", unit = "1" }}' for it in problem["states"])
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


def scipy_fit(problem, observed, method):
    lower, upper = (np.log([pair[end] for pair in problem["parameters"].values()]) for end in (0, 1))

    def residuals(unknowns):
        with np.errstate(all="ignore"):
            try:
                states = simulate(problem, np.exp(unknowns), method, 1e-8, 1e-8)
            except ArithmeticError:
                return np.full(observed.size, 1e3)
        return ((states - observed) / problem["sizes"]).ravel()

    fit = least_squares(residuals, (lower + upper) / 2, bounds=(lower, upper), x_scale="jac", max_nfev=60)
    return np.exp(fit.x), np.sqrt(np.mean(fit.fun ** 2))


def main():
    binary = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    directory = sys.argv[3] if len(sys.argv) > 3 else "runs/stiff"
    of_scipy = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    os.makedirs(directory, exist_ok=True)
    environment = dict(os.environ, RAYON_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    print("problem       fits  ok  right   seconds a fit   SciPy's")
    for name, problem in PROBLEMS.items():
        cases = write(name, problem, count, directory)
        shutil.rmtree(f"{directory}/{name}", ignore_errors=True)
        run = lambda *stages: subprocess.run(
            [binary, "run", f"{name}.toml", "--quiet", "--threads", "1", "--workspace", name, *stages], cwd=directory, env=environment,
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        run("--stage", "import")
        spent = lambda: resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        begin = spent()
        run("--stage", "estimate")
        with_fits = spent() - begin
        run("--stage", "estimate")
        # Less what the program takes when nothing is to be done.
        seconds = (2 * with_fits - (spent() - begin)) / count
        rows = pyarrow.parquet.read_table(f"{directory}/{name}/estimates/adapt.parquet").to_pylist()
        ok = right = 0
        for case, row in enumerate(rows):
            allowed = lambda it, value: 5 * (row[f"{it}_standard_error"] or 0) if case else 1e-4 * value
            is_right = all(abs(row[it] - value) < allowed(it, value) for it, value in zip(problem["parameters"], problem["truth"]))
            ok += row["status"] == "ok"
            right += is_right
            if not is_right or row["status"] != "ok":
                print("  ", row["environment"], row["status"], row["reason"][:150], [row[it] for it in problem["parameters"]])
        theirs = []
        for method in ("LSODA", "Radau"):
            for observed in cases[1:1 + of_scipy]:
                begin = time.process_time()
                values, _ = scipy_fit(problem, observed, method)
                spent_there = time.process_time() - begin
                off = np.max(np.abs(values / problem["truth"] - 1))
                theirs.append(f"{method} {spent_there:.1f} s, " + (f"{spent_there / seconds:.0f} times" if off < 0.05 else f"off by {off:.0%}"))
        print(f"{name:12} {count:5} {ok:3} {right:6} {seconds:15.4f}   {'; '.join(theirs)}", flush=True)


if __name__ == "__main__":
    main()
