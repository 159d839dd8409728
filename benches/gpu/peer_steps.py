"""Training steps of CoDA-l1 in PyTorch on random data of the benchmark's shapes: milliseconds a step, as JSON.

`reference` integrates with torchdiffeq, as the published code does, where torchdiffeq is installed; `eager` has the same operations in a plain loop;
`graph` is that loop with everything around it, captured as one CUDA graph. All weights are adapted, and steps of Adam end with a clipped gradient.

    python peer_steps.py [DEVICE] [ROUNDS]
"""

import json
import math
import statistics
import sys
import time

import torch

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cuda"
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
ON_CUDA = DEVICE.startswith("cuda")


def split(theta, shapes):
    """The weights of each environment `[E, P]` as tensors `[E, *shape]`."""
    parts = theta.split([math.prod(shape) for shape in shapes], 1)
    return [part.reshape(theta.shape[0], *shape) for part, shape in zip(parts, shapes)]


def convnet(theta, channels=2, width=64, scale=5e-4):
    """Four 3 x 3 layers on periodic fields; environments are groups."""
    shapes = [(width, channels, 3, 3), (width,)] + [(width, width, 3, 3), (width,)] * 2 + [(channels, width, 3, 3), (channels,)]
    weights = split(theta, shapes)
    environments = theta.shape[0]

    def field(x):
        for layer in range(4):
            kernel, bias = (w.flatten(0, 1) for w in weights[2 * layer : 2 * layer + 2])
            x = torch.nn.functional.pad(x, (1, 1, 1, 1), mode="circular")
            x = torch.nn.functional.conv2d(x, kernel, bias, groups=environments)
            x = torch.nn.functional.silu(x) if layer < 3 else x * scale
        return x

    return field, sum(map(math.prod, shapes))


def fno(theta, width=10, modes=12, hidden=128, points=32):
    """Four spectral layers between two of 1 x 1."""
    spectral = [(width, width, modes, modes, 2)] * 2 + [(width, width), (width,)]
    shapes = [(width, 3), (width,)] + spectral * 4 + [(hidden, width), (hidden,), (1, hidden), (1,)]
    weights = split(theta, shapes)
    axis = torch.linspace(0, 1, points, device=theta.device)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"))

    def linear(x, matrix, bias):
        return torch.einsum("ebixy,eoi->eboxy", x, matrix) + bias[:, None, :, None, None]

    def field(w):
        places = grid.expand(*w.shape[:2], 2, points, points)
        x = linear(torch.cat([w[:, :, None], places], 2), *weights[:2])
        for layer in range(4):
            low, high, matrix, bias = weights[2 + 4 * layer : 6 + 4 * layer]
            spectrum = torch.fft.rfft2(x)
            kept = torch.zeros_like(spectrum)
            for rows, of in ((slice(None, modes), low), (slice(-modes, None), high)):
                of = torch.view_as_complex(of.contiguous())
                kept[..., rows, :modes] = torch.einsum("ebixy,eioxy->eboxy", spectrum[..., rows, :modes], of)
            x = torch.fft.irfft2(kept, s=(points, points)) + linear(x, matrix, bias)
            x = torch.nn.functional.silu(x) if layer < 3 else x
        return linear(torch.nn.functional.silu(linear(x, *weights[-4:-2])), *weights[-2:])[:, :, 0]

    return field, sum(map(math.prod, shapes))


def rk4(field, x, dt):
    k1 = field(x)
    k2 = field(x + dt / 2 * k1)
    k3 = field(x + dt / 2 * k2)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + field(x + dt * k3))


def euler(field, x, dt):
    return x + dt * field(x)


class Task:
    """Everything of a training step; `scheduled` restarts as a mask."""

    def __init__(self, network, initial, method, dt, dimension, steps=9):
        self.network, self.method, self.dt, self.steps = network, method, dt, steps
        torch.manual_seed(0)
        environments = 4 if network is convnet else 5
        size = network(torch.zeros(environments, 10**6 if network is fno else 10**5, device=DEVICE)[:, : self.size()])[1]
        self.centre = (torch.randn(size, device=DEVICE) * 0.02).requires_grad_()
        self.columns = (torch.randn(size, dimension, device=DEVICE) * 1e-3).requires_grad_()
        self.contexts = torch.zeros(environments, dimension, device=DEVICE, requires_grad=True)
        self.data = torch.stack([initial() for _ in range(steps + 1)])
        self.restarts = torch.rand(steps, device=DEVICE) < 0.1
        self.trained = [self.centre, self.columns, self.contexts]
        self.adam = torch.optim.Adam(self.trained, lr=1e-3, capturable=ON_CUDA)

    def size(self):
        if self.network is convnet:
            return 2 * 64 * 9 + 64 + 2 * (64 * 64 * 9 + 64) + 64 * 2 * 9 + 2
        return 3 * 10 + 10 + 4 * (2 * 10 * 10 * 12 * 12 * 2 + 110) + 128 * 10 + 128 + 128 + 1

    def field(self):
        return self.network(self.centre + self.contexts @ self.columns.T)[0]

    def error(self, predictions):
        loss = ((predictions - self.data[1:]) ** 2).mean()
        return loss + 1e-5 * self.columns.norm(dim=1).sum() + 1e-3 * (self.contexts**2).sum()

    def in_a_loop(self):
        field, x, states = self.field(), self.data[0], []
        for step in range(self.steps):
            x = torch.where(self.restarts[step], self.data[step], x)
            x = self.method(field, x, self.dt)
            states.append(x)
        return self.error(torch.stack(states))

    def by_torchdiffeq(self, odeint):
        field = self.field()
        times = torch.arange(self.steps + 1, device=DEVICE) * float(self.dt)
        name = "rk4" if self.method is rk4 else "euler"
        # The published code calls the solver once for each stretch between restarts.
        states, first = [], 0
        ends = [step for step in range(1, self.steps) if self.restarts[step].item()] + [self.steps]
        for end in ends:
            states.append(odeint(lambda t, x: field(x), self.data[first], times[first : end + 1], method=name)[1:])
            first = end
        return self.error(torch.cat(states))

    def step(self, loss):
        self.adam.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0, foreach=True)
        self.adam.step()

    def captured(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.step(self.in_a_loop)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        self.adam.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self.in_a_loop().backward()
            torch.nn.utils.clip_grad_norm_(self.trained, 1.0, foreach=True)
            self.adam.step()
        return graph


def milliseconds(work):
    synchronise = torch.cuda.synchronize if ON_CUDA else (lambda: None)
    for _ in range(3):
        work()
    found = []
    for _ in range(ROUNDS):
        synchronise()
        begin = time.perf_counter()
        work()
        synchronise()
        found.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(found)


def figures(task):
    found = {"eager": milliseconds(lambda: task.step(task.in_a_loop))}
    try:
        from torchdiffeq import odeint

        found["reference"] = milliseconds(lambda: task.step(lambda: task.by_torchdiffeq(odeint)))
    except ImportError:
        pass
    if ON_CUDA:
        graph = task.captured()
        found["graph"] = milliseconds(graph.replay)
    return found


tasks = {
    "gs": lambda: Task(convnet, lambda: torch.rand(1, 8, 32, 32, device=DEVICE), rk4, 40.0, 2),
    "ns": lambda: Task(fno, lambda: torch.randn(5, 16, 32, 32, device=DEVICE), euler, 1.0, 1),
}
print(json.dumps({name: figures(make()) for name, make in tasks.items()}))
