"""Runs the Python of a page that opens the sample dataset, as its reader would: in the root of the repository.

Usage: pages.py PAGE.md
"""

import contextlib
import io
import pathlib
import re
import sys

import torch_on_cpu  # before all that imports torch
from ending import run_and_exit

SAMPLE = "datasets/lv-sample/"


def main():
    page = pathlib.Path(sys.argv[1])
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    blocks = [block for block in blocks if SAMPLE in block]
    for block in blocks:
        names = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, page.name, "exec"), names)
        check(names)
    print(f"{len(blocks)} block opened the sample")


def check(names):
    """What the block opened in three tools is the same thing."""
    rows, split, states, parameters = names["rows"], names["split"], names["states"], names["parameters"]
    assert len(rows) == split.sizes["trajectory"] == len(states) == len(parameters) == 18
    for i, row in enumerate(rows.itertuples()):
        assert split["environment_id"].values[i] == row.environment
        assert parameters[i].tolist() == [row.beta, row.delta]
        assert states[i].T.tolist() == [row.x.tolist(), row.y.tolist()]
        assert split["x"].values[i, :, 0].tolist() == row.x.tolist()


run_and_exit(main)
