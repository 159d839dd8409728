"""Opens both copies of a dataset with other people's tools and compares them with what was written.

Usage: dataset.py EXPECTED.json, which holds the directory, the manifest's quantities and every trajectory of every split.
"""

import json
import math
import pathlib
import struct
import sys

import h5py
import netCDF4
import numpy as np
import polars
import pyarrow.parquet
import xarray
from ending import run_and_exit


def bits(value):
    return struct.pack("<d", value)


def same(found, expected, place):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape, f"{place}: shape {found.shape} and not {expected.shape}"
    found, expected = found.ravel().tolist(), expected.ravel().tolist()
    assert [*map(bits, found)] == [*map(bits, expected)], f"{place}: {found} and not {expected}"


def same_parameter(found, expected, place):
    if expected is None:
        assert found is None or math.isnan(found), f"{place}: {found} and not unknown"
    else:
        same([found], [expected], place)


def columns(row, expected):
    """The values of each channel, `[T]` or `[T, n_1, ..]`, and of each input `[T]`."""
    channels = [quantity["name"] for quantity in expected["channels"]]
    states = np.reshape(row["states"], [len(row["times"]), len(channels), *space(expected)])
    inputs = np.reshape(row["inputs"], [len(row["times"]), -1])
    of_inputs = {quantity["name"]: inputs[:, u] for u, quantity in enumerate(expected["inputs"])}
    return {name: states[:, c] for c, name in enumerate(channels)} | of_inputs


def space(expected):
    return [axis["count"] for axis in (expected["grid"] or {"axes": []})["axes"]]


def is_shared(rows):
    return all(row["times"] == rows[0]["times"] for row in rows)


def check_parquet(path, split, expected):
    table = pyarrow.parquet.read_table(path)
    assert pyarrow.parquet.read_metadata(path).metadata[b"paramill.format"] == b"2.3"
    assert pyarrow.parquet.read_metadata(path).metadata[b"paramill.split"] == split.encode()
    for quantity in expected["channels"] + expected["parameters"] + expected["inputs"]:
        metadata = table.schema.field(quantity["name"]).metadata
        assert metadata[b"unit"].decode() == quantity["unit"], quantity
        assert metadata[b"description"].decode() == quantity.get("description", ""), quantity
    for quantity in expected["inputs"]:
        assert table.schema.field(quantity["name"]).metadata[b"between"].decode() == quantity["between"]
    assert table.schema.field("time").metadata[b"unit"].decode() == expected["time_unit"]
    for tool, rows in [("pyarrow", table.to_pylist()), ("polars", polars.read_parquet(path).to_dicts())]:
        check_rows(rows, split, expected, f"{tool}, {split}")


def check_rows(rows, split, expected, place):
    assert len(rows) == len(expected["splits"][split]), place
    for found, row in zip(rows, expected["splits"][split]):
        at = f"{place}, {row['environment']}, {row['trajectory']}"
        assert (found["environment"], found["trajectory"]) == (row["environment"], row["trajectory"]), at
        same(found["time"], row["times"], at)
        for quantity, value in zip(expected["parameters"], row["parameters"]):
            same_parameter(found[quantity["name"]], value, at)
        for name, values in columns(row, expected).items():
            same(found[name], values, f"{at}, {name}")


def check_xarray(path, engine, split, expected):
    rows = expected["splits"][split]
    shared = is_shared(rows)
    axes = [axis["name"] for axis in (expected["grid"] or {"axes": []})["axes"]]
    with xarray.open_dataset(path, engine=engine) as found:
        assert found.attrs["Conventions"] == "CF-1.11"
        assert found.attrs["paramill_format"] == "2.3"
        assert found.attrs["title"] == f"{expected['name']}: {split}"
        assert found["time"].dims == (("time",) if shared else ("trajectory", "sample")), found["time"].dims
        assert found["time"].attrs["units"] == expected["time_unit"]
        along = "time" if shared else "sample"
        for quantity in expected["channels"] + expected["parameters"] + expected["inputs"]:
            variable = found[quantity["name"]]
            dimensions = ("trajectory",)
            if quantity in expected["channels"]:
                dimensions = ("trajectory", along, *(axes or (["point"] if shared else [])))
            if quantity in expected["inputs"]:
                dimensions = ("trajectory", along)
                assert variable.attrs["between"] == quantity["between"]
            assert variable.dims == dimensions and variable.dtype == np.float64, variable
            assert variable.attrs["units"] == quantity["unit"], variable
            assert variable.attrs["long_name"] == quantity.get("description", quantity["name"]), variable
        for axis in (expected["grid"] or {"axes": []})["axes"]:
            assert found[axis["name"]].attrs["units"] == axis["unit"]
            same(found[axis["name"]].values, [i * axis["spacing"] for i in range(axis["count"])], axis["name"])
        listed = []
        for b, row in enumerate(rows):
            length = len(row["times"])
            if not shared:
                assert int(found["sample_count"][b]) == length
                assert np.isnan(found["time"].values[b, length:]).all()
            times = found["time"].values if shared else found["time"].values[b, :length]
            record = {
                "environment": str(found["environment_id"].values[b]),
                "trajectory": str(found["trajectory_id"].values[b]),
                "time": times,
            }
            for quantity in expected["parameters"]:
                record[quantity["name"]] = float(found[quantity["name"]].values[b])
            for quantity in expected["channels"]:
                values = found[quantity["name"]].values[b]
                if shared and not axes:
                    values = values[:, 0]
                assert np.isnan(values[length:]).all()
                record[quantity["name"]] = values[:length]
            for quantity in expected["inputs"]:
                values = found[quantity["name"]].values[b]
                assert np.isnan(values[length:]).all()
                record[quantity["name"]] = values[:length]
            listed.append(record)
    check_rows(listed, split, expected, f"xarray with {engine}, {split}")


def check_h5py(path, split, expected):
    sampled = [quantity["name"] for quantity in expected["channels"] + expected["inputs"]]
    with h5py.File(path) as file:
        for name in sampled:
            variable = file[name]
            assert variable.chunks and variable.shuffle and variable.compression == "gzip" and variable.fletcher32, name
            assert math.isnan(variable.fillvalue) and math.isnan(variable.attrs["_FillValue"][0]), name
            assert variable.dims[0].keys() == ["trajectory"], name
        for b, row in enumerate(expected["splits"][split]):
            assert file["environment_id"].asstr()[b] == row["environment"]
            for name, values in columns(row, expected).items():
                found = np.reshape(file[name][b, : len(row["times"])], values.shape)
                same(found, values, f"h5py, {split}, {row['trajectory']}, {name}")
        assert ("dimensions" in file) == is_shared(expected["splits"][split])
        if "dimensions" in file:
            check_well(file, split, expected)
    with netCDF4.Dataset(path) as file:
        assert file.dimensions["trajectory"].size == len(expected["splits"][split])


def check_well(file, split, expected):
    """Reads what the loader of The Well reads, in its order."""
    rows = expected["splits"][split]
    axes = [axis["name"] for axis in (expected["grid"] or {"axes": []})["axes"]] or ["point"]
    assert file.attrs["grid_type"] == "cartesian" and file.attrs["dataset_name"] == expected["name"]
    assert file.attrs["n_trajectories"] == len(rows) and file.attrs["n_spatial_dims"] == len(axes)
    assert list(file.attrs["simulation_parameters"]) == []
    assert list(file["dimensions"].attrs["spatial_dims"]) == axes
    same(file["dimensions"]["time"][:], rows[0]["times"], "The Well's time")
    for name in [*axes, "time"]:
        dimension = file["dimensions"][name]
        assert not dimension.attrs["sample_varying"] and dimension.attrs["time_varying"] == (name == "time"), name
    channels = [quantity["name"] for quantity in expected["channels"]]
    names = [list(file[f"t{order}_fields"].attrs["field_names"]) for order in range(3)]
    assert names == [channels, [], []], names
    for c, name in enumerate(channels):
        field = file["t0_fields"][name]
        assert field == file[name], f"{name} is stored twice"
        assert field.attrs["sample_varying"] and field.attrs["time_varying"]
        assert list(field.attrs["dim_varying"]) == [True] * len(axes) and field.ndim == 2 + len(axes)
    parameters = [quantity["name"] for quantity in expected["parameters"]]
    inputs = [quantity["name"] for quantity in expected["inputs"]]
    assert list(file["scalars"].attrs["field_names"]) == parameters + inputs
    for name in inputs:
        scalar = file["scalars"][name]
        assert scalar == file[name], f"{name} is stored twice"
        assert scalar.attrs["sample_varying"] and scalar.attrs["time_varying"] and scalar.ndim == 2
    for k, name in enumerate(parameters):
        scalar = file["scalars"][name]
        assert scalar.attrs["sample_varying"] and not scalar.attrs["time_varying"]
        same(scalar[:], [row["parameters"][k] for row in rows], f"The Well's {name}")
    for name in axes:
        condition = file["boundary_conditions"][f"{name}_periodic"]
        assert condition.attrs["bc_type"] == "periodic" and list(condition.attrs["associated_dims"]) == [name]
        mask = condition["mask"][:]
        assert mask.dtype == bool and mask[0] and mask[-1] and not mask[1:-1].any()


def main():
    expected = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    directory = pathlib.Path(expected["directory"])
    for split in expected["splits"]:
        check_parquet(directory / f"data/{split}-00000-of-00001.parquet", split, expected)
        hdf5 = directory / f"hdf5/{split}.h5"
        check_h5py(hdf5, split, expected)
        for engine in ["h5netcdf", "netcdf4"]:
            check_xarray(hdf5, engine, split, expected)
    print(f"{len(expected['splits'])} splits are the same in every tool")


if __name__ == "__main__":
    run_and_exit(main)
