"""Navier-Stokes trajectories per second with the usual batched PyTorch loop (vorticity, 2/3 dealiasing, Crank-Nicolson, explicit advection):
python generation_torch.py TRAJECTORIES STEPS THREADS. A trajectory takes 39,000 steps of 1e-3, burn-in included; STEPS of them are timed."""
import sys, time, math, torch
torch.set_num_threads(int(sys.argv[3])); N = 32; torch.manual_seed(0)
k = torch.fft.fftfreq(N, 1 / N); kx, ky = k[:, None].expand(N, N // 2 + 1), torch.arange(N // 2 + 1.)[None].expand(N, N // 2 + 1)
lap = 4 * math.pi**2 * (kx**2 + ky**2); inverse = lap.clone(); inverse[0, 0] = 1; keep = ((kx.abs() <= N / 3) & (ky <= N / 3)).float()
x = torch.arange(N) / N; force = torch.fft.rfft2(0.1 * (torch.sin(2 * math.pi * (x[:, None] + x)) + torch.cos(2 * math.pi * (x[:, None] + x))))
def field(n):  # Gaussian random field, alpha 2.5, tau 7
    e = 7**1.5 * math.sqrt(2) * N**2 * (lap + 49) ** -1.25; e[0, 0] = 0
    return e * torch.complex(torch.randn(n, N, N // 2 + 1), torch.randn(n, N, N // 2 + 1))
def step(w, nu, dt):
    psi = w / inverse
    u, v = torch.fft.irfft2(2j * math.pi * ky * psi), torch.fft.irfft2(-2j * math.pi * kx * psi)
    wx, wy = torch.fft.irfft2(2j * math.pi * kx * w), torch.fft.irfft2(2j * math.pi * ky * w)
    advection = keep * torch.fft.rfft2(u * wx + v * wy)
    return (-dt * advection + dt * force + (1 - 0.5 * dt * nu * lap) * w) / (1 + 0.5 * dt * nu * lap)
if __name__ == "__main__":
    n, steps = int(sys.argv[1]), int(sys.argv[2]); nu = torch.tensor([8e-4, 9e-4, 1e-3, 1.1e-3, 1.2e-3]).repeat(n // 5 + 1)[:n, None, None]
    with torch.no_grad():
        w = field(n); ts = []
        for _ in range(20): w = step(w, nu, 1e-3)
        for _ in range(3):
            a = time.perf_counter()
            for _ in range(steps): w = step(w, nu, 1e-3)
            ts.append(time.perf_counter() - a)
    assert torch.isfinite(torch.fft.irfft2(w)).all()
    seconds = sorted(ts)[1] / steps * 39000
    print(f"torch median {n / seconds:.4f} trajectories per second of {n}")
