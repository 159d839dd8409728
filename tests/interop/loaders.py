"""Opens a dataset with the loaders that people train from, and compares what they give with what was written.

Usage: loaders.py EXPECTED.json, which holds the directory, the manifest's quantities and every trajectory of every split.
"""

import json
import os
import pathlib
import sys
import tempfile

import torch_on_cpu  # before all that imports torch

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"

import datasets
import duckdb
import h5py
import numpy as np
import the_well.data
import the_well.utils.export
import torch
from dataset import check_rows, columns, is_shared, same, space
from ending import run_and_exit

PERIODIC = the_well.data.datasets.BoundaryCondition.PERIODIC.value


def check_parquet(directory, expected):
    files = {split: str(directory / f"data/{split}-*.parquet") for split in expected["splits"]}
    for split, pattern in files.items():
        order = "order by environment, trajectory"
        cursor = duckdb.execute(f"select * from read_parquet('{pattern}') {order}")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row)) for row in cursor.fetchall()]
        check_rows(rows, split, expected, f"duckdb, {split}")
    with tempfile.TemporaryDirectory() as cache:
        loaded = datasets.load_dataset("parquet", data_files=files, cache_dir=cache)
        for split in expected["splits"]:
            check_rows(list(loaded[split]), split, expected, f"datasets, {split}")


def inputs_of(expected):
    return [quantity["name"] for quantity in expected["inputs"]]


def check_well(directory, split, expected):
    rows = expected["splits"][split]
    channels = [quantity["name"] for quantity in expected["channels"]]
    points, count = space(expected) or [1], len(rows[0]["times"])
    load = lambda inputs: the_well.data.WellDataset(
        path=str(directory / "hdf5"),
        include_filters=[f"hdf5/{split}."],
        n_steps_input=inputs,
        n_steps_output=1,
        normalize_time_grid=False,
    )
    loaded = load(count - 1)
    metadata = loaded.metadata
    assert metadata.dataset_name == expected["name"] and metadata.grid_type == "cartesian"
    assert metadata.n_spatial_dims == len(points) and list(metadata.spatial_resolution) == points
    assert metadata.field_names == {0: channels, 1: [], 2: []}, metadata.field_names
    assert metadata.constant_scalar_names == [quantity["name"] for quantity in expected["parameters"]]
    assert metadata.scalar_names == inputs_of(expected)
    assert metadata.boundary_condition_types == ["periodic"]
    assert len(loaded) == len(rows) and len(load(1)) == len(rows) * (count - 1)
    for sample, row in zip(loaded, rows):
        place = f"the_well, {split}, {row['environment']}, {row['trajectory']}"
        fields = torch.cat([sample["input_fields"], sample["output_fields"]])
        assert fields.dtype == torch.float64 and list(fields.shape) == [count, *points, len(channels)], fields.shape
        values = columns(row, expected)
        for c, name in enumerate(channels):
            same(fields[..., c], np.reshape(values[name], [count, *points]), f"{place}, {name}")
        if expected["inputs"]:
            inputs = torch.cat([sample["input_scalars"], sample["output_scalars"]])
            same(inputs, np.stack([values[name] for name in inputs_of(expected)], 1), f"{place}, inputs")
        same(torch.cat([sample["input_time_grid"], sample["output_time_grid"]]), row["times"], place)
        same(sample["constant_scalars"], row["parameters"], place)
        assert (sample["boundary_conditions"] == PERIODIC).all(), place
        assert list(sample["space_grid"].shape) == [*points, len(points)], place
        for a, axis in enumerate((expected["grid"] or {"axes": []})["axes"]):
            along = sample["space_grid"][..., a].movedim(a, 0).reshape(axis["count"], -1)[:, 0]
            same(along, [i * axis["spacing"] for i in range(axis["count"])], f"{place}, {axis['name']}")
    with h5py.File(directory / f"hdf5/{split}.h5") as file:
        exported = the_well.utils.export.hdf5_to_xarray(file)
        for name in channels:
            written = [np.reshape(columns(row, expected)[name], [count, *points]) for row in rows]
            same(exported[name].values, written, f"the_well as xarray, {split}, {name}")


def main():
    expected = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    directory = pathlib.Path(expected["directory"])
    check_parquet(directory, expected)
    of_the_well = [split for split, rows in expected["splits"].items() if is_shared(rows)]
    for split in of_the_well:
        check_well(directory, split, expected)
    print(f"{len(expected['splits'])} splits are the same in every loader, {len(of_the_well)} of them in The Well's")


run_and_exit(main)
