"""How fast Paramill is on a GPU, beside PyTorch in the same run: `make bench-gpu`. Writes figures.json beside this file, of which page.py makes a page.

    python3 benches/gpu/bench.py                       every figure
    python3 benches/gpu/bench.py --device cpu --tiny   only to see that all runs; writes no file

A step of Paramill is what a training of 4n steps takes beyond one of n, divided by 3n: start, data and looks at the validation split cancel. The
peers run in the Python that PEERS_PYTHON names, or that of `make bench`.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = ROOT / "target/release/paramill"
# The shapes of the benchmark: all layers adapted, one step of the solver from sample to sample, every training trajectory in each step.
SETTINGS = {
    "gs": ["train.contexts=learned", "train.adapted_layers=all"],
    "ns": ["train.contexts=learned", "train.rule=coda-l1", "train.adapted_layers=all", "train.trajectories_per_environment=16"],
}
# What steps do not need.
LEFT_OUT = ["generate.splits.grid.limit=1", "generate.splits.test.trajectories=1", "generate.splits.adapt_test.trajectories=1"]


class Busy:
    """Share of the time in which the device computed anything, while it lasts."""

    def __enter__(self):
        self.found, self.process = [], None
        if shutil.which("nvidia-smi"):
            query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
            self.process = subprocess.Popen(query, stdout=subprocess.PIPE, text=True)
            self.thread = threading.Thread(target=lambda: self.found.extend(self.process.stdout))
            self.thread.start()
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.thread.join()

    def percent(self):
        """The median of the middle half: the run's start and end are not training."""
        values = [int(line) for line in self.found if line.strip().isdigit()]
        values = sorted(values[len(values) // 4 : max(1, 3 * len(values) // 4)])
        return values[len(values) // 2] if values else None


def paramill(arguments, workspace, device):
    begin = time.perf_counter()
    command = [PROGRAM, *arguments, "--workspace", workspace, "--device", device]
    found = subprocess.run(command, capture_output=True, text=True, cwd=workspace.parent)
    if found.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{found.stderr}")
    return time.perf_counter() - begin, found


def step(name, on, steps, device, place):
    """Milliseconds of a training step, and how busy the device is."""
    pipeline = ROOT / f"pipelines/{name}.toml"
    settings = [*LEFT_OUT, f"train.steps_on={on}", "train.validate_every=1000000", *SETTINGS[name]]
    walls, busy = [], None
    few = [word for setting in LEFT_OUT for word in ("--set", setting)]
    paramill(["run", pipeline, "--stage", "generate", *few], place / name, device)
    for count in (steps, 4 * steps):
        chosen = [word for setting in [*settings, f"train.steps={count}"] for word in ("--set", setting)]
        with Busy() as busy:
            wall, _ = paramill(["run", pipeline, "--stage", "train", "--force", "train", *chosen], place / name, device)
        walls.append(wall)
    return {"milliseconds": 1e3 * (walls[1] - walls[0]) / (3 * steps), "busy": busy.percent()}


def whole(name, tiny, device, place):
    """Wall time and figures of a full budget."""
    budget = "tiny" if tiny else "full"
    pipeline = ROOT / f"pipelines/paper/table1-{name}.toml"
    chosen = ["--set", f"sweep.budget={budget}", "--cell", f"{budget}--coda-l1--seed-0"]
    wall, found = paramill(["run", pipeline, *chosen], place / f"full-{name}", device)
    return {"minutes": wall / 60, "report": found.stdout.strip().splitlines()}


def machine(device):
    if not device.startswith("cuda"):
        return "a processor"
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--tiny", action="store_true", help="a few steps of everything, and no file")
    parser.add_argument("--no-full", action="store_true", help="leave the full budgets out")
    options = parser.parse_args()
    python = os.environ.get("PEERS_PYTHON", ROOT / ".tools/peers/bin/python")
    steps, rounds = (2, 1) if options.tiny else (200, 20)
    place = pathlib.Path(tempfile.mkdtemp(prefix="paramill-bench-gpu-"))
    figures = {"machine": machine(options.device), "date": datetime.date.today().isoformat()}
    try:
        peers = [python, HERE / "peer_steps.py", options.device, str(rounds)]
        figures["peers"] = json.loads(subprocess.run(peers, capture_output=True, text=True, check=True).stdout)
        for name in SETTINGS:
            figures[name] = {on: step(name, on, steps, options.device, place) for on in ("host", "device")}
            print(name, json.dumps(figures[name]), flush=True)
        if not options.no_full:
            figures["full"] = {name: whole(name, options.tiny, options.device, place) for name in SETTINGS}
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr}")
    finally:
        shutil.rmtree(place)
    text = json.dumps(figures, indent=2) + "\n"
    print(text)
    if not options.tiny:
        (HERE / "figures.json").write_text(text)
        page = subprocess.run([sys.executable, HERE / "page.py"], capture_output=True, text=True, check=True).stdout
        (ROOT / "docs/studies/gpu.md").write_text(page)


main()
