"""Trajectories per second with SciPy's DOP853 and a pool of processes: python generation_scipy.py SYSTEM TRAJECTORIES TOLERANCE PROCESSES."""
import sys, time, multiprocessing, numpy as np
from scipy.integrate import solve_ivp
def lv(t, y, b, d): return [0.5 * y[0] - b * y[0] * y[1], d * y[0] * y[1] - 0.5 * y[1]]
def go(t, y, k1, K1):
    s1, s2, s3, s4, s5, s6, s7 = y.tolist()                                              # floats are faster than NumPy's scalars
    v = k1 * s1 * s6 / (1 + (s6 / K1) ** 4); a = 6 * s2 * (1 - s5); b = 16 * s3 * (4 - s6); c = 100 * s4 * s5; d = 12 * s2 * s5; e = 13 * (s4 - s7)
    return [2.5 - v, 2 * v - a - d, a - b, b - c - e, a - c - d, 2 * (b - v) - 1.28 * s6, 0.1 * e - 1.8 * s7]
def gs(t, y, F, k):
    u, v = y.reshape(2, 32, 32); p = np.pad(y.reshape(2, 32, 32), ((0, 0), (1, 1), (1, 1)), mode="wrap")
    side = p[:, :-2, 1:-1] + p[:, 2:, 1:-1] + p[:, 1:-1, :-2] + p[:, 1:-1, 2:]; corner = p[:, :-2, :-2] + p[:, :-2, 2:] + p[:, 2:, :-2] + p[:, 2:, 2:]
    lap = 0.5 * side + 0.25 * corner - 3 * y.reshape(2, 32, 32); r = u * v * v
    return np.stack([0.2097 * lap[0] - r + F * (1 - u), 0.105 * lap[1] + r - (F + k) * v]).ravel()
def squares(r):
    y = np.stack([np.full((32, 32), 0.95), np.full((32, 32), 0.05)])
    for i, j in r.integers(0, 29, (3, 2)): y[0, i:i + 3, j:j + 3] = 0; y[1, i:i + 3, j:j + 3] = 1
    return y.ravel()
SYSTEMS = {  # field, times, values of both parameters, bounds of the initial state
    "lotka-volterra": (lv, np.arange(20) * 0.5, [0.5, 0.75, 1], [0.5, 0.75, 1], [1, 1], [3, 3]),
    "glycolytic-oscillator": (go, np.arange(20) * 0.05, [100, 90, 80], [1, 0.75, 0.5],
                              [0.15, 0.19, 0.04, 0.1, 0.08, 0.14, 0.05], [1.6, 2.16, 0.2, 0.35, 0.3, 2.67, 0.1]),
    "gray-scott": (gs, np.arange(10) * 40.0, [0.030, 0.039], [0.058, 0.062], None, None),
}
def solve(job): f, t, p, y, tol = job; return solve_ivp(f, (0, t[-1]), y, t_eval=t, args=p, method="DOP853", rtol=tol, atol=tol).y
if __name__ == "__main__":
    name, n, tol, processes = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    f, t, ps, qs, low, high = SYSTEMS[name]; r = np.random.default_rng(0)
    start = squares if name == "gray-scott" else lambda r: r.uniform(low, high)
    jobs = [(f, t, (ps[i % len(ps)], qs[i // len(ps) % len(qs)]), start(r), tol) for i in range(n)]
    with multiprocessing.Pool(processes) as pool:
        pool.map(solve, jobs[:4 * processes]); ts = []
        for _ in range(3): a = time.perf_counter(); pool.map(solve, jobs, chunksize=max(1, min(16, n // (4 * processes)))); ts.append(time.perf_counter() - a)
    print(f"scipy median {n / np.median(ts):.1f} trajectories per second of {n}")
