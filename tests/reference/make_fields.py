"""Writes gray_scott.json and navier_stokes.json: trajectories of fields on a periodic grid by NumPy and SciPy.

    python tests/reference/make_fields.py          (NumPy 2, SciPy 1.11 or later; two minutes)

Initial fields are whole, later samples hold every fourth point along each axis, and the mean and the variance of each channel.

Gray-Scott: DOP853 at rtol = atol = 1e-12; `disagreement` is its greatest difference from RK45 at 1e-11.

Navier-Stokes: `states` are made with the discretisation of the program (Crank-Nicolson, Adams-Bashforth of order 2 after one Euler
step of 1e-3) but from v . grad(w) as it stands, with five real transforms; `exact` has the same waves and no error in time:
DOP853 at rtol = atol = 1e-13, whose greatest difference from a run at 1e-11 is `disagreement`. `euler_error` is the relative error
of the last sample where advection is advanced by Euler's rule instead, as the benchmark's published code does.
"""

import json
import pathlib

import numpy as np
import scipy
from scipy.integrate import solve_ivp

N = 32
THIN = 4
TIMES = 10


def write(name, content):
    path = pathlib.Path(__file__).with_name(f"{name}.json")
    path.write_text(json.dumps(content).replace("[[", "[\n[").replace("], [", "],\n[") + "\n")
    print(name, content["disagreement"], path.stat().st_size)


def sample(state):
    """Every fourth point of a state [C, N, N], and its statistics."""
    thin = state[:, ::THIN, ::THIN]
    return {"points": thin.ravel().tolist(), "means": state.mean((1, 2)).tolist(), "variances": state.var((1, 2)).tolist()}


# Gray-Scott


def laplacian(a, spacing):
    around = lambda *shift: np.roll(a, shift, (0, 1))
    sides = around(1, 0) + around(-1, 0) + around(0, 1) + around(0, -1)
    corners = around(1, 1) + around(1, -1) + around(-1, 1) + around(-1, -1)
    return (sides / 2 + corners / 4 - 3 * a) / spacing**2


def gray_scott(_, state, feed, kill, spacing):
    u, v = state.reshape(2, N, N)
    du = 0.2097 * laplacian(u, spacing) - u * v**2 + feed * (1 - u)
    dv = 0.105 * laplacian(v, spacing) + u * v**2 - (feed + kill) * v
    return np.concatenate([du.ravel(), dv.ravel()])


def squares(corners, edge, inside, outside):
    state = np.empty((2, N, N))
    state[:] = np.array(outside)[:, None, None]
    for i, j in corners:
        for a in range(edge):
            for b in range(edge):
                state[:, (i + a) % N, (j + b) % N] = inside
    return state


def make_gray_scott():
    reacted, fed = (0.0, 1.0), (0.95, 0.05)
    cases = [  # preset, F, k, dx, initial state
        ("paper", 0.030, 0.058, 1.0, squares([(3, 5), (14, 20), (30, 29)], 3, reacted, fed)),
        ("paper", 0.039, 0.062, 1.0, squares([(0, 0), (10, 2), (21, 16)], 3, reacted, fed)),
        ("paper", 0.033, 0.061, 1.0, squares([(8, 8), (9, 10), (25, 31)], 3, reacted, fed)),
        ("as-printed", 0.30, 0.062, 2.0, squares([(3, 5), (14, 20), (31, 30)], 2, fed, reacted)),
    ]
    times = np.arange(TIMES) * 40.0
    trajectories, disagreement = [], 0.0
    for preset, feed, kill, spacing, initial in cases:
        solve = lambda method, tolerance: solve_ivp(
            gray_scott, (0, times[-1]), initial.ravel(), method, times, args=(feed, kill, spacing), rtol=tolerance, atol=tolerance
        ).y.T.reshape(TIMES, 2, N, N)
        states = solve("DOP853", 1e-12)
        disagreement = max(disagreement, float(np.abs(states - solve("RK45", 1e-11)).max()))
        trajectories.append({
            "preset": preset,
            "parameters": [feed, kill],
            "initial": initial.ravel().tolist(),
            "states": [sample(state) for state in states[1:]],
        })
    write("gray_scott", {
        "solver": f"scipy {scipy.__version__} DOP853, rtol = atol = 1e-12",
        "disagreement": disagreement,
        "times": times.tolist(),
        "trajectories": trajectories,
    })


# Navier-Stokes

K = np.fft.fftfreq(N, 1 / N)
KX, KY = 2 * np.pi * K[:, None], 2 * np.pi * np.arange(N // 2 + 1)[None, :]
SQUARE = KX**2 + KY**2
KEPT = (np.abs(K)[:, None] < N / 3) & (np.arange(N // 2 + 1)[None, :] < N / 3) & (SQUARE > 0)
X, Y = np.meshgrid(np.arange(N) / N, np.arange(N) / N, indexing="ij")
FORCE = np.fft.rfft2(0.1 * (np.sin(2 * np.pi * (X + Y)) + np.cos(2 * np.pi * (X + Y)))) * KEPT


def rate(w):
    """Force and advection of a spectrum [N, N/2 + 1]."""
    to_grid = lambda spectrum: np.fft.irfft2(spectrum, s=(N, N))
    psi = w / np.where(SQUARE > 0, SQUARE, 1)
    velocity = to_grid(1j * KY * psi), to_grid(-1j * KX * psi)
    gradient = to_grid(1j * KX * w), to_grid(1j * KY * w)
    return FORCE - KEPT * np.fft.rfft2(velocity[0] * gradient[0] + velocity[1] * gradient[1])


def stepped(initial, nu, duration, samples, step=1e-3, order=2):
    w, before, states = np.fft.rfft2(initial) * KEPT, None, [initial]
    for _ in range(samples - 1):
        for _ in range(round(duration / step)):
            now = rate(w)
            push = now if before is None or order == 1 else 1.5 * now - 0.5 * before
            w = ((1 - step * nu * SQUARE / 2) * w + step * push) / (1 + step * nu * SQUARE / 2)
            before = now
        states.append(np.fft.irfft2(w, s=(N, N)))
    return np.array(states)


def exact(initial, nu, times, tolerance):
    def field(_, flat):
        w = flat.view(complex).reshape(N, N // 2 + 1)
        return (rate(w) - nu * SQUARE * w).ravel().view(float)

    start = (np.fft.rfft2(initial) * KEPT).ravel().view(float)
    solution = solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=tolerance, atol=tolerance * N * N)
    return np.array([np.fft.irfft2(y.copy().view(complex).reshape(N, -1), s=(N, N)) for y in solution.y.T])


def make_navier_stokes():
    rng = np.random.default_rng(0)
    times = np.arange(TIMES) * 1.0
    trajectories, disagreement, euler = [], 0.0, []
    for nu in (6e-4, 8e-4, 1.2e-3, 1.4e-3):
        size = np.sqrt(2) * 7**1.5 * (4 * np.pi**2 * (K[:, None] ** 2 + K[None, :] ** 2) + 49) ** -1.25
        size[0, 0] = 0
        noise = (rng.standard_normal((N, N)) + 1j * rng.standard_normal((N, N))) / np.sqrt(2)
        field = (np.fft.ifft2(size * noise) * N * N).real
        initial = stepped(field, 8e-4, 30.0, 2)[-1]
        states, truth = stepped(initial, nu, 1.0, TIMES), exact(initial, nu, times, 1e-13)
        disagreement = max(disagreement, float(np.abs(truth - exact(initial, nu, times, 1e-11)).max()))
        relative = lambda other: float(np.sqrt(((other[-1] - truth[-1]) ** 2).mean() / (truth[-1] ** 2).mean()))
        euler.append(relative(stepped(initial, nu, 1.0, TIMES, order=1)))
        print(nu, "relative error", relative(states), "Euler", euler[-1])
        trajectories.append({
            "preset": "paper",
            "parameters": [nu],
            "initial": initial.ravel().tolist(),
            "states": [sample(state[None]) for state in states[1:]],
            "exact": truth[-1].ravel().tolist(),
        })
    write("navier_stokes", {
        "solver": f"numpy {np.__version__}, scipy {scipy.__version__} DOP853",
        "disagreement": disagreement,
        "euler_error": float(np.sqrt(np.mean(np.square(euler)))),
        "times": times.tolist(),
        "trajectories": trajectories,
    })


if __name__ == "__main__":
    make_gray_scott()
    make_navier_stokes()
