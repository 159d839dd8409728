"""Writes small reaction-diffusion fields in the layouts of The Well, of PDEBench and of netCDF, as other people's code does.

Usage: fields.py DIRECTORY. The field obeys u_t = D (u_xx + u_yy) + r u (1 - u) on a periodic square; each file has a rate r of its own.
What was written is told in DIRECTORY/expected.json.
"""

import json
import pathlib
import sys

import h5py
import netCDF4
import numpy as np

POINTS, SPACING, DIFFUSION = 10, 1.0, 0.3
STEP, SUBSTEPS, SAMPLES = 0.5, 50, 9
RATES = {"a": 0.5, "b": 0.8, "c": 1.1, "d": 1.4, "e": 0.65, "f": 1.25}
TRAJECTORIES = 3


def rate_of_change(u, rate):
    laplacian = sum(np.roll(u, shift, axis) for axis in (-1, -2) for shift in (-1, 1)) - 4 * u
    return DIFFUSION * laplacian / SPACING**2 + rate * u * (1 - u)


def simulate(u, rate):
    """Samples of a field, by the classical method of Runge and Kutta."""
    samples, h = [u], STEP / SUBSTEPS
    for _ in range(SAMPLES - 1):
        for _ in range(SUBSTEPS):
            k1 = rate_of_change(u, rate)
            k2 = rate_of_change(u + h / 2 * k1, rate)
            k3 = rate_of_change(u + h / 2 * k2, rate)
            k4 = rate_of_change(u + h * k3, rate)
            u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        samples.append(u)
    return np.stack(samples)


def initial(random):
    """A smooth field between 0.1 and 0.6."""
    places = 2 * np.pi * np.arange(POINTS) / POINTS
    u = np.zeros((POINTS, POINTS))
    for i in range(-2, 3):
        for j in range(-2, 3):
            phase = random.uniform(0, 2 * np.pi)
            u += random.normal() / (1 + i * i + j * j) * np.cos(i * places[:, None] + j * places[None, :] + phase)
    return 0.1 + 0.5 * (u - u.min()) / (u.max() - u.min())


def the_well(path, rate, fields, times, places):
    with h5py.File(path, "w") as file:
        file.attrs["dataset_name"] = "fisher"
        file.attrs["grid_type"] = "cartesian"
        file.attrs["n_spatial_dims"] = 2
        file.attrs["n_trajectories"] = len(fields)
        file.attrs["simulation_parameters"] = ["r"]
        file.attrs["r"] = rate
        dimensions = file.create_group("dimensions")
        dimensions.attrs["spatial_dims"] = ["x", "y"]
        for name, values in [("time", times), ("x", places), ("y", places)]:
            dimension = dimensions.create_dataset(name, data=values.astype(np.float32))
            dimension.attrs["sample_varying"] = False
            dimension.attrs["time_varying"] = name == "time"
        conditions = file.create_group("boundary_conditions")
        for name in ("x", "y"):
            condition = conditions.create_group(f"{name}_periodic")
            condition.attrs["bc_type"] = "PERIODIC"
            condition.attrs["associated_dims"] = [name]
            condition.attrs["associated_fields"] = []
            condition.attrs["sample_varying"] = False
            condition.attrs["time_varying"] = False
            mask = np.zeros(POINTS, dtype=bool)
            mask[0] = mask[-1] = True
            condition.create_dataset("mask", data=mask)
        file.create_group("scalars").attrs["field_names"] = []
        group = file.create_group("t0_fields")
        group.attrs["field_names"] = ["u"]
        field = group.create_dataset("u", data=fields.astype(np.float32), chunks=(1, 4, POINTS, POINTS), compression="gzip")
        field.attrs["dim_varying"] = [True, True]
        field.attrs["sample_varying"] = True
        field.attrs["time_varying"] = True
        vectors = file.create_group("t1_fields")
        vectors.attrs["field_names"] = ["flux"]
        flux = np.stack([np.roll(fields, -1, axis) - fields for axis in (-2, -1)], axis=-1)
        flux = vectors.create_dataset("flux", data=flux.astype(np.float32))
        flux.attrs["dim_varying"] = [True, True]
        flux.attrs["sample_varying"] = True
        flux.attrs["time_varying"] = True
        file.create_group("t2_fields").attrs["field_names"] = []


def pdebench(path, fields, times, places):
    """One array, one time more than samples."""
    with h5py.File(path, "w") as file:
        file.create_dataset("tensor", data=fields.astype(np.float32))
        file.create_dataset("t-coordinate", data=np.append(times, times[-1] + STEP).astype(np.float32))
        file.create_dataset("x-coordinate", data=places.astype(np.float32))
        file.create_dataset("y-coordinate", data=places.astype(np.float32))


def pdebench_groups(path, fields, times, places):
    """A group a trajectory, two channels."""
    with h5py.File(path, "w") as file:
        for k, field in enumerate(fields):
            group = file.create_group(f"{k:04d}")
            group.create_dataset("data", data=np.stack([field, 1 - field], axis=-1).astype(np.float32))
            for name, values in [("t", times), ("x", places), ("y", places)]:
                group.create_dataset(f"grid/{name}", data=values.astype(np.float32))


def netcdf(path, field, times, places):
    """Packed in 16 bits, as archives of the weather are; times since a date."""
    with netCDF4.Dataset(path, "w") as file:
        for name, values, units in [("time", times, "hours since 2020-01-01 06:00"), ("lat", places, "km"), ("lon", places, "km")]:
            file.createDimension(name, len(values))
            variable = file.createVariable(name, "f8", (name,))
            variable.units = units
            variable[:] = values
        variable = file.createVariable("temperature", "i2", ("time", "lat", "lon"), fill_value=-32768, zlib=True)
        variable.scale_factor, variable.add_offset, variable.units = 1e-4, 1.0, "degC"
        values = np.ma.array(field)
        values[0, 0, 0] = np.ma.masked
        variable[:] = values


def main():
    directory = pathlib.Path(sys.argv[1])
    random = np.random.default_rng(0)
    times, places = STEP * np.arange(SAMPLES), SPACING * np.arange(POINTS)
    told = {}
    (directory / "well").mkdir()
    for name, rate in RATES.items():
        fields = np.stack([simulate(initial(random), rate) for _ in range(TRAJECTORIES)])
        the_well(directory / "well" / f"fisher_{name}.hdf5", rate, fields, times, places)
        told[name] = fields.astype(np.float32).astype(float).ravel().tolist()
    pdebench(directory / f"Fisher_r{rate}.hdf5", fields, times, places)
    pdebench_groups(directory / "groups.h5", fields, times, places)
    netcdf(directory / "plate.nc", fields[0], times, places)
    np.savez_compressed(directory / "fields.npz", u=np.asfortranarray(fields), t=times, run=np.array(["p", "q", "r"]))
    np.savez(directory / "stored.npz", u=fields.astype(">f4"), t=times)
    np.save(directory / "half.npy", fields.astype(np.float16))
    with h5py.File(directory / "half.h5", "w") as file:
        file.create_dataset("u", data=fields.astype(np.float16))
        file.create_dataset("wave", data=np.fft.rfft2(fields))
    (directory / "expected.json").write_text(json.dumps({"rates": RATES, "fields": told, "shape": list(fields.shape)}))
    print(f"{len(RATES)} files of {TRAJECTORIES} trajectories each")


if __name__ == "__main__":
    main()
