"""Makes `import torch` work where libtorch's wheel came without the libraries of CUDA, as `make setup` fetches it for the CPU.

The Python part of the wheel links to them and nothing on the CPU calls them: empty libraries of their names satisfy the
linker, since functions are looked up at their first call.
"""

import ctypes
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

LIBRARIES = [
    "libcublas.so.13",
    "libcublasLt.so.13",
    "libcudnn.so.9",
    "libcufft.so.12",
    "libcufile.so.0",
    "libcurand.so.10",
    "libcusparse.so.12",
    "libcusparseLt.so.0",
    "libnccl.so.2",
    "libnvshmem_host.so.3",
]


def find_torch():
    """An installed torch where there is one, else the one that libtorch comes from."""
    if importlib.util.find_spec("torch"):
        return
    tools = pathlib.Path(__file__).resolve().parents[2] / ".tools" / "torch"
    assert (tools / "torch").exists(), f"{tools} is missing: run `make setup`"
    sys.path.append(str(tools))
    present = {path.name for path in (tools / "nvidia").rglob("*.so.*")}
    sys.setdlopenflags(os.RTLD_LAZY)
    with tempfile.TemporaryDirectory() as folder:
        for name in [name for name in LIBRARIES if name not in present]:
            path = os.path.join(folder, name)
            subprocess.run(["cc", "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-x", "c", os.devnull, "-o", path], check=True)
            ctypes.CDLL(path)
        importlib.import_module("torch")


find_torch()
