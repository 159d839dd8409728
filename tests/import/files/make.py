"""Writes gzip.parquet: a table of tanks in a compression that is not read."""

import pathlib

import pyarrow
import pyarrow.parquet

columns = {"tank": ["a", "b"], "run": [1, 1], "t": [0.0, 1.0], "level": [1.0, 2.0], "flow": [0.5, 0.4]}
place = pathlib.Path(__file__).with_name("gzip.parquet")
pyarrow.parquet.write_table(pyarrow.table(columns), place, compression="gzip")
