"""The page of what was measured on a GPU, of figures.json beside this file: python3 benches/gpu/page.py > docs/studies/gpu.md"""

import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parent / "figures.json"
SYSTEMS = {"gs": "Gray-Scott, ConvNet of width 64, 4 environments", "ns": "Navier-Stokes, FNO, 5 x 16 trajectories"}
MISSING = "not measured"


def at(figures, *keys):
    for key in keys:
        figures = (figures or {}).get(key)
    return figures


def shown(value, unit, digits=1):
    return MISSING if value is None else f"{value:.{digits}f}{unit}"


def main():
    figures = json.loads(FILE.read_text()) if FILE.exists() else {}
    lines = ["# On a GPU", "", "Made by `benches/gpu/page.py` of what `make bench-gpu` measures; not edited by hand.", ""]
    if figures:
        lines += [f"Measured on {figures['machine']}, {figures['date']}: Paramill and its peers in one run.", ""]
    else:
        lines += [
            "**Nothing of the present state was measured yet: no GPU was at hand.** Where there is one, `make test-gpu` holds its results against the CPU's, and",
            "`make bench-gpu` fills this page. On the CPU, tests drive the same steps (`train.steps_on = \"device\"`, `tests/device.rs`).",
            "",
        ]
    lines += ["## A training step", "", "CoDA-l1, every layer adapted, whole rollouts, milliseconds:", ""]
    lines += ["| | " + " | ".join(SYSTEMS.values()) + " |", "|---|---:|---:|"]

    def row(name, cell):
        lines.append(f"| {name} | " + " | ".join(cell(system) for system in SYSTEMS) + " |")

    ours = lambda on: lambda system: shown(at(figures, system, on, "milliseconds"), "")
    peer = lambda name: lambda system: shown(at(figures, "peers", system, name), "")

    def ratio(system):
        step, reference = at(figures, system, "device", "milliseconds"), at(figures, "peers", system, "reference")
        return MISSING if None in (step, reference) else f"{reference / step:.1f}"

    row("Paramill, the whole step on the device as one graph", ours("device"))
    row("Paramill, from the host", ours("host"))
    row("PyTorch with torchdiffeq, as the published code", peer("reference"))
    row("PyTorch, the same operations in a plain loop", peer("eager"))
    row("PyTorch, that loop captured as one CUDA graph", peer("graph"))
    row("Paramill's graph beside torchdiffeq, times", ratio)
    row("share of the time in which the device computes, with the graph", lambda it: shown(at(figures, it, "device", "busy"), " %", 0))
    row("the same from the host", lambda it: shown(at(figures, it, "host", "busy"), " %", 0))
    lines += ["", "Wanted: at most 12 ms each, ten times the published code, the device busy for more than 90 % of the time.", ""]
    lines += ["## Full budgets", "", "CoDA-l1 of Table 1, `full`, one seed, from nothing to the report; at most 10 minutes are wanted:", ""]
    for system, name in SYSTEMS.items():
        found = at(figures, "full", system)
        lines.append(f"- {name}: " + (MISSING if found is None else f"{found['minutes']:.1f} minutes"))
        lines += [f"    {line}" for line in (found or {}).get("report", [])]
    lines += [
        "",
        "## Before",
        "",
        "On an H200 (driver 580, torch 2.11.0+cu130, 2026-11-28), before steps stayed on the device: the published code 132 ms on Gray-Scott and 112 ms on",
        "Navier-Stokes; Paramill from the host about 85 and about 100 ms, the device busy for a quarter to 40 % of the time; on Gray-Scott PyTorch in a plain loop",
        "170 ms, as one graph 20.2 ms (TF32 changes nothing). A step on Gray-Scott has 67 GFLOP.",
        "",
        "## What was reckoned, not measured",
        "",
        "On a device a layer of the ConvNet is a batched product of matrices, with the neighbourhoods of all points gathered before, in place of a grouped",
        "convolution. Reading the operations of libtorch, it takes 6 forward (two that continue the fields, one that gathers, the product, the bias, the",
        "activation) and about 15 back; with four layers, nine samples and four stages some 3,000, and 1,000 of the solver. Whether this is faster than the",
        "convolution has to be seen.",
        "",
    ]
    print("\n".join(lines), end="")


main()
