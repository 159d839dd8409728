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


def bits(value):
    return struct.pack("<d", value)


def same(found, expected, place):
    found, expected = list(map(float, found)), list(map(float, expected))
    assert [*map(bits, found)] == [*map(bits, expected)], f"{place}: {found} and not {expected}"


def same_parameter(found, expected, place):
    if expected is None:
        assert found is None or math.isnan(found), f"{place}: {found} and not unknown"
    else:
        same([found], [expected], place)


def columns(row, channels):
    return {name: row["states"][c :: len(channels)] for c, name in enumerate(channels)}


def check_parquet(path, split, expected):
    table = pyarrow.parquet.read_table(path)
    assert pyarrow.parquet.read_metadata(path).metadata[b"paramill.format"] == b"1.0"
    assert pyarrow.parquet.read_metadata(path).metadata[b"paramill.split"] == split.encode()
    for quantity in expected["channels"] + expected["parameters"]:
        metadata = table.schema.field(quantity["name"]).metadata
        assert metadata[b"unit"].decode() == quantity["unit"], quantity
        assert metadata[b"description"].decode() == quantity.get("description", ""), quantity
    assert table.schema.field("time").metadata[b"unit"].decode() == expected["time_unit"]
    for tool, rows in [("pyarrow", table.to_pylist()), ("polars", polars.read_parquet(path).to_dicts())]:
        check_rows(rows, split, expected, f"{tool}, {split}")


def check_rows(rows, split, expected, place):
    channels = [quantity["name"] for quantity in expected["channels"]]
    assert len(rows) == len(expected["splits"][split]), place
    for found, row in zip(rows, expected["splits"][split]):
        at = f"{place}, {row['environment']}, {row['trajectory']}"
        assert (found["environment"], found["trajectory"]) == (row["environment"], row["trajectory"]), at
        same(found["time"], row["times"], at)
        for quantity, value in zip(expected["parameters"], row["parameters"]):
            same_parameter(found[quantity["name"]], value, at)
        for name, values in columns(row, channels).items():
            same(found[name], values, f"{at}, {name}")


def check_xarray(path, engine, split, expected):
    rows = expected["splits"][split]
    shared = all(row["times"] == rows[0]["times"] for row in rows)
    with xarray.open_dataset(path, engine=engine) as found:
        assert found.attrs["Conventions"] == "CF-1.11"
        assert found.attrs["paramill_format"] == "1.0"
        assert found.attrs["title"] == f"{expected['name']}: {split}"
        assert found["time"].dims == (("time",) if shared else ("trajectory", "sample")), found["time"].dims
        assert found["time"].attrs["units"] == expected["time_unit"]
        along = "time" if shared else "sample"
        for quantity in expected["channels"] + expected["parameters"]:
            variable = found[quantity["name"]]
            dimensions = ("trajectory", along) if quantity in expected["channels"] else ("trajectory",)
            assert variable.dims == dimensions and variable.dtype == np.float64, variable
            assert variable.attrs["units"] == quantity["unit"], variable
            assert variable.attrs["long_name"] == quantity.get("description", quantity["name"]), variable
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
                assert np.isnan(values[length:]).all()
                record[quantity["name"]] = values[:length]
            listed.append(record)
    check_rows(listed, split, expected, f"xarray with {engine}, {split}")


def check_h5py(path, split, expected):
    channels = [quantity["name"] for quantity in expected["channels"]]
    with h5py.File(path) as file:
        for name in channels:
            variable = file[name]
            assert variable.chunks and variable.shuffle and variable.compression == "gzip" and variable.fletcher32, name
            assert math.isnan(variable.fillvalue) and math.isnan(variable.attrs["_FillValue"][0]), name
            assert variable.dims[0].keys() == ["trajectory"], name
        for b, row in enumerate(expected["splits"][split]):
            assert file["environment_id"].asstr()[b] == row["environment"]
            for name, values in columns(row, channels).items():
                same(file[name][b, : len(row["times"])], values, f"h5py, {split}, {row['trajectory']}, {name}")
    with netCDF4.Dataset(path) as file:
        assert file.dimensions["trajectory"].size == len(expected["splits"][split])


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


main()
