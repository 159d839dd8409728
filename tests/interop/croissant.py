"""Loads a dataset from its Croissant description and compares every record with what was written.

Usage: croissant.py EXPECTED.json, which holds the directory, the manifest's quantities and every trajectory of every split.
"""

import json
import math
import pathlib
import sys

import mlcroissant
import numpy as np
from ending import run_and_exit


def same(found, expected, place):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape, f"{place}: shape {found.shape} and not {expected.shape}"
    assert np.array_equal(found, expected, equal_nan=True), f"{place}: {found} and not {expected}"


def check(dataset, split, expected):
    space = [axis["count"] for axis in (expected["grid"] or {"axes": []})["axes"]]
    records = list(dataset.records(split))
    (record_set,) = [it for it in dataset.metadata.record_sets if it.uuid == split]
    columns = {field.uuid: field.source.extract.column for field in record_set.fields}
    rows = expected["splits"][split]
    assert len(records) == len(rows) > 0, f"{split}: {len(records)} records and not {len(rows)}"
    for record, row in zip(records, rows):
        found = {columns[key]: value for key, value in record.items()}
        assert found["environment"].decode() == row["environment"] and found["trajectory"].decode() == row["trajectory"]
        for quantity, value in zip(expected["parameters"], row["parameters"]):
            here = found[quantity["name"]]
            if value is None:
                assert here is None or math.isnan(here), f"{split}, {quantity['name']}: {here}"
            else:
                same(here, value, f"{split}, {quantity['name']}")
        same(found["time"], row["times"], f"{split}, time")
        states = np.reshape(row["states"], [len(row["times"]), len(expected["channels"]), *space])
        inputs = np.reshape(row["inputs"], [len(row["times"]), -1])
        for u, quantity in enumerate(expected["inputs"]):
            same(found[quantity["name"]], inputs[:, u], f"{split}, {quantity['name']}")
        for c, quantity in enumerate(expected["channels"]):
            # A field comes as arrays in arrays.
            values = np.array(as_lists(found[quantity["name"]]), float)
            same(values, states[:, c], f"{split}, {quantity['name']}")


def as_lists(value):
    return [as_lists(part) for part in value] if isinstance(value, (list, np.ndarray)) else value


def main():
    expected = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    dataset = mlcroissant.Dataset(jsonld=pathlib.Path(expected["directory"]) / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors, dataset.metadata.ctx.issues.report()
    for split in expected["splits"]:
        check(dataset, split, expected)
    print(f"{len(expected['splits'])} splits are the same in mlcroissant")


run_and_exit(main)
