"""Opens a model and its estimates with other people's tools, and computes the estimates' figures again from the weights.

Usage: model.py EXPECTED.json, which holds the directories and the predictions of every estimated environment.
"""

import itertools
import json
import pathlib
import sys

import numpy as np
import polars
import pyarrow.parquet
import safetensors
import safetensors.numpy
from ending import run_and_exit


def load_weights(path, manifest):
    """The arrays by name, after names, shapes and types have been held to what the manifest says."""
    arrays = safetensors.numpy.load_file(path)
    d, channels = manifest["context_dimension"], len(manifest["channels"])
    layers, width = manifest["model"]["layers"], manifest["model"]["width"]
    widths = [channels] + [width] * (layers - 1) + [channels]
    shapes = {"contexts": (len(manifest["environments"]), d)}
    for layer, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        for name, shape in [("weight", (outputs, inputs)), ("bias", (outputs,))]:
            shapes[f"theta_c.layers.{layer}.{name}"] = shape
            shapes[f"W.layers.{layer}.{name}"] = (*shape, d)
    assert {name: array.shape for name, array in arrays.items()} == shapes
    assert all(array.dtype == np.float64 and np.isfinite(array).all() for array in arrays.values())
    with safetensors.safe_open(path, framework="numpy") as file:
        assert not file.metadata(), file.metadata()
    return arrays


def vector_field(arrays, layers, context):
    """`g(x; theta_c + W xi)` with swish between the layers."""
    tensor = lambda name: arrays[f"theta_c.{name}"] + arrays[f"W.{name}"] @ context
    parts = [(tensor(f"layers.{layer}.weight"), tensor(f"layers.{layer}.bias")) for layer in range(layers)]

    def field(x):
        for layer, (weight, bias) in enumerate(parts):
            x = weight @ x + bias
            if layer + 1 < layers:
                x = x / (1 + np.exp(-x))
        return x

    return field


def roll_out(field, times, x):
    """One step of the classical Runge-Kutta method from sample to sample."""
    states = [x]
    for dt in np.diff(times):
        k1 = field(x)
        k2 = field(x + dt / 2 * k1)
        k3 = field(x + dt / 2 * k2)
        k4 = field(x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(x)
    return np.array(states)


def mapped(parameter_map, context):
    """The parameters of a context, by `map.json`."""
    z = (context - np.array(parameter_map["centre"])) / np.array(parameter_map["scale"])
    features = [1.0, *z]
    if parameter_map["kind"] == "quadratic":
        features += [z[a] * z[b] for a in range(len(z)) for b in range(a, len(z))]
    return np.array(parameter_map["coefficients"]) @ features


def check_table(path, manifest, d):
    """The rows of a Parquet file, the same in pyarrow and in polars."""
    table = pyarrow.parquet.read_table(path)
    names = ["environment", "status", "reason"]
    parameters = [parameter["name"] for parameter in manifest["parameters"]]
    for parameter in manifest["parameters"]:
        name = parameter["name"]
        columns = ["standard_error", "lower", "upper", "crlb", "true", "model_error", "degrees_of_freedom"]
        names += [name] + [f"{name}_{what}" for what in columns]
        assert table.schema.field(name).metadata[b"unit"].decode() == parameter["unit"]
    names += [f"correlation_{a}_{b}" for a, b in itertools.combinations(parameters, 2)]
    for what in ["noise", "autocorrelation"]:
        names += [f"{what}_{channel['name']}" for channel in manifest["channels"]]
    names += [f"context_{k}" for k in range(d)]
    names += ["trajectory_rmse", "trajectory_mape", "test_mse", "points", "degrees_of_freedom"]
    names += ["minus_two_log_likelihood", "aic", "bic", "starts", "starts_at_best", "second_minimum"]
    names += ["iterations", "in_hull"]
    assert table.column_names == names, table.column_names
    rows = table.to_pylist()
    assert polars.read_parquet(path).to_dicts() == rows
    return rows


def close(found, expected, place, rtol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-11, err_msg=place)


def main():
    expected = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    model, dataset, estimates = (pathlib.Path(expected[key]) for key in ["model", "dataset", "estimates"])
    manifest = json.loads((model / "manifest.json").read_text(encoding="utf-8"))
    arrays = load_weights(model / "weights.safetensors", manifest)
    parameter_map = json.loads((model / "map.json").read_text(encoding="utf-8"))
    centre, scale = (np.array([it[key] for it in manifest["scales"]]) for key in ["centre", "scale"])
    channels = [channel["name"] for channel in manifest["channels"]]
    assert (manifest["solver"], manifest["precision"]) == ("rk4", "f64")
    count = 0
    for split, predictions in expected["predictions"].items():
        observed = {}
        for row in pyarrow.parquet.read_table(dataset / f"data/{split}-00000-of-00001.parquet").to_pylist():
            observed.setdefault(row["environment"], row)
        for row in check_table(estimates / f"{split}.parquet", manifest, manifest["context_dimension"]):
            name = row["environment"]
            place = f"{split}, {name}"
            context = np.array([row[f"context_{k}"] for k in range(manifest["context_dimension"])])
            truth = np.stack([observed[name][channel] for channel in channels], axis=1)
            field = vector_field(arrays, manifest["model"]["layers"], context)
            states = roll_out(field, observed[name]["time"], (truth[0] - centre) / scale) * scale + centre
            close(states.ravel(), predictions[name], place)
            error = (states - truth)[1:]
            # A fit ends along the tangents: where it fits badly, its errors are some 1e-5 off those of the rollout.
            close(np.sqrt(np.mean(error**2)), row["trajectory_rmse"], place, 1e-4)
            close(100 * np.mean(np.abs(error / truth[1:])), row["trajectory_mape"], place, 1e-4)
            parameters = [parameter["name"] for parameter in manifest["parameters"]]
            close(mapped(parameter_map, context), [row[parameter] for parameter in parameters], place)
            for parameter in parameters:
                assert row[f"{parameter}_true"] == observed[name][parameter], place
            count += 1
    print(f"{count} environments are the same in numpy")


run_and_exit(main)
