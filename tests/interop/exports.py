"""Opens the netCDF and PDEBench exports of a dataset with other people's tools and compares them with what was written.

Usage: exports.py EXPECTED.json, as of dataset.py; the exports lie in the directories `netcdf` and, if any, `pdebench` beside it.
"""

import json
import pathlib
import sys

import h5py
import netCDF4
import numpy as np
import xarray

from dataset import check_rows, columns, is_shared, same, space
from ending import run_and_exit


def check_netcdf(path, engine, split, expected):
    rows = expected["splits"][split]
    along = "time" if is_shared(rows) else "sample"
    axes = [axis["name"] for axis in (expected["grid"] or {"axes": []})["axes"]]
    with xarray.open_dataset(path, engine=engine) as found:
        assert "paramill_format" not in found.attrs and "point" not in found.dims
        assert set(found.coords) == {"trajectory", along, *axes}, found.coords
        assert found["time"].attrs["units"] == expected["time_unit"]
        listed = []
        for b, row in enumerate(rows):
            length = len(row["times"])
            times = found["time"].values if along == "time" else found["time"].values[b]
            record = {
                "environment": str(found["environment_id"].values[b]),
                "trajectory": str(found["trajectory_id"].values[b]),
                "time": times[:length],
            }
            for quantity in expected["parameters"]:
                record[quantity["name"]] = float(found[quantity["name"]].values[b])
            for quantity in expected["channels"]:
                variable = found[quantity["name"]]
                assert variable.dims == ("trajectory", along, *axes) and variable.attrs["units"] == quantity["unit"]
                assert np.isnan(variable.values[b, length:]).all()
                record[quantity["name"]] = variable.values[b, :length]
            for quantity in expected["inputs"]:
                variable = found[quantity["name"]]
                assert variable.dims == ("trajectory", along) and variable.attrs["units"] == quantity["unit"]
                record[quantity["name"]] = variable.values[b, :length]
            listed.append(record)
        for axis in (expected["grid"] or {"axes": []})["axes"]:
            same(found[axis["name"]].values, [i * axis["spacing"] for i in range(axis["count"])], axis["name"])
    check_rows(listed, split, expected, f"xarray with {engine}, {path}")


def check_pdebench(path, split, expected):
    rows = expected["splits"][split]
    channels = [quantity["name"] for quantity in expected["channels"]]
    with h5py.File(path) as file:
        tensor = file["tensor"]
        assert tensor.shape == (len(rows), len(rows[0]["times"]), *space(expected), len(channels)), tensor.shape
        assert list(tensor.attrs["channels"]) == channels
        assert list(tensor.attrs["units"]) == [quantity["unit"] for quantity in expected["channels"]]
        assert list(file["parameters"].attrs["names"]) == [quantity["name"] for quantity in expected["parameters"]]
        same(file["t-coordinate"][:], rows[0]["times"], "t-coordinate")
        axes = (expected["grid"] or {"axes": []})["axes"]
        for name, axis in zip("xyz", axes):
            same(file[f"{name}-coordinate"][:], [i * axis["spacing"] for i in range(axis["count"])], name)
        assert len([name for name in file if name.endswith("-coordinate")]) == 1 + len(axes)
        for b, row in enumerate(rows):
            assert (file["environment"].asstr()[b], file["trajectory"].asstr()[b]) == (row["environment"], row["trajectory"])
            known = [np.nan if value is None else value for value in row["parameters"]]
            assert np.array_equal(file["parameters"][b], known, equal_nan=True)
            for c, values in enumerate(columns(row, expected).values()):
                same(tensor[b, ..., c], values, f"{path}, {b}, {channels[c]}")


def main():
    expected = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    beside = pathlib.Path(expected["directory"]).parent
    for split in expected["splits"]:
        for engine in ["h5netcdf", "netcdf4"]:
            check_netcdf(beside / "netcdf" / f"{split}.nc", engine, split, expected)
        with netCDF4.Dataset(beside / "netcdf" / f"{split}.nc") as file:
            assert file.dimensions["trajectory"].size == len(expected["splits"][split])
        if (beside / "pdebench").exists():
            check_pdebench(beside / "pdebench" / f"{split}.hdf5", split, expected)
    print(f"{len(expected['splits'])} splits are the same in every export")


if __name__ == "__main__":
    run_and_exit(main)
