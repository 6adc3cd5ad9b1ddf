"""Reads dlib's face recognition network (dlib_face_recognition_resnet_model_v1.dat) into ONNX.

The file is dlib's serialisation: a tag for each layer, then integers and tensors in dlib's own encoding. The layers
come from the output to the input of the network in definition, but are stored from input to output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from tools.convert_models.graph import GraphBuilder

Weights = npt.NDArray[np.float32]

INPUT_SIZE = 150
_MEAN_RGB = (122.782, 117.001, 104.298)
_LAYER_TAG = re.compile(rb"con_\d|affine_|fc_\d")
_TENSOR_FORMAT = 2

# The network of dlib's dnn_face_recognition_ex.cpp, from the input on: (kind, channels).
_BLOCKS: list[tuple[str, int]] = [
    *[("residual", 32)] * 3,
    ("down", 64), *[("residual", 64)] * 3,
    ("down", 128), *[("residual", 128)] * 2,
    ("down", 256), *[("residual", 256)] * 2,
    ("down", 256),
]  # fmt: skip


class _Reader:
    """dlib's encoding of integers and tensors at a place of the file."""

    def __init__(self, blob: bytes, at: int) -> None:
        self._blob = blob
        self._at = at

    def integer(self) -> int:
        """A byte with the sign and the number of bytes, then these, least significant first."""
        control = self._blob[self._at]
        length = control & 0x0F
        start = self._at + 1
        self._at = start + length
        value = int.from_bytes(self._blob[start : self._at], "little")
        return -value if control & 0x80 else value

    def tensor(self) -> Weights:
        """A flat tensor: format, four extents, then the values."""
        if self.integer() != _TENSOR_FORMAT:
            raise ValueError("a tensor in an unknown format")
        count = int(np.prod([self.integer() for _ in range(4)]))
        values = np.frombuffer(self._blob, "<f4", count, self._at).copy()
        self._at += 4 * count
        return values


@dataclass(frozen=True, slots=True)
class _Stored:
    """A layer as it lies in the file; `extents` are outputs and inputs of a full connection."""

    tag: str
    values: Weights
    extents: tuple[int, int] | None = None


def _stored_layers(blob: bytes) -> Iterator[_Stored]:
    for found in _LAYER_TAG.finditer(blob):
        tag = found.group().decode()
        # A tag is a string with its length in front; the same letters elsewhere are weights by chance.
        if blob[found.start() - 2 : found.start()] != bytes([1, len(tag)]):
            continue
        reader = _Reader(blob, found.end())
        extents = (reader.integer(), reader.integer()) if tag.startswith("fc") else None
        yield _Stored(tag, reader.tensor(), extents)


@dataclass(frozen=True, slots=True)
class FaceNetWeights:
    """Convolutions with their normalisation folded in, input first, and the last matrix [256,128]."""

    convolutions: list[tuple[Weights, Weights]]
    projection: Weights


def read_weights(blob: bytes) -> FaceNetWeights:
    """Take the weights out of the file."""
    convolutions: list[tuple[Weights, Weights]] = []
    projection: Weights | None = None
    pending: tuple[Weights, Weights] | None = None
    channels = 3
    for layer in _stored_layers(blob):
        if layer.tag.startswith("con"):
            side = 7 if channels == 3 else 3
            filters = layer.values.size // (channels * side * side + 1)
            kernel, bias = layer.values[:-filters], layer.values[-filters:]
            pending = kernel.reshape(filters, channels, side, side), bias
            channels = filters
        elif layer.tag == "affine_":
            assert pending is not None
            gain, offset = np.split(layer.values, 2)
            convolutions.append((pending[0] * gain[:, None, None, None], pending[1] * gain + offset))
        else:
            assert layer.extents is not None
            projection = layer.values.reshape(layer.extents[1], layer.extents[0])
    assert projection is not None
    return FaceNetWeights(convolutions, projection)


class _FaceNet:
    """Writes the network down, keeping count of the picture's side and channels."""

    def __init__(self, convolutions: list[tuple[Weights, Weights]]) -> None:
        self.graph = GraphBuilder()
        self._left = iter(convolutions)
        self._side = INPUT_SIZE
        self._channels = 3

    def convolve(self, data: str, stride: int, padding: int, relu: bool = True) -> str:
        kernel, bias = next(self._left)
        weights = [self.graph.constant(kernel), self.graph.constant(bias)]
        attributes = {"kernel_shape": kernel.shape[2:], "strides": [stride] * 2, "pads": [padding] * 4}
        result = self.graph.node("Conv", [data, *weights], **attributes)
        return self.graph.node("Relu", [result]) if relu else result

    def stem(self, data: str) -> str:
        mean = self.graph.constant(np.array(_MEAN_RGB, np.float32).reshape(1, 3, 1, 1))
        centred = self.graph.node("Sub", [data, mean])
        data = self.convolve(self.graph.node("Div", [centred, self.graph.constant(np.array([256], np.float32))]), 2, 0)
        self._side = ((self._side - 7) // 2 + 1 - 3) // 2 + 1
        self._channels = 32
        return self.graph.node("MaxPool", [data], kernel_shape=[3, 3], strides=[2, 2])

    def residual(self, data: str) -> str:
        inner = self.convolve(self.convolve(data, 1, 1), 1, 1, relu=False)
        return self.graph.node("Relu", [self.graph.node("Add", [data, inner])])

    def down(self, data: str, channels: int) -> str:
        """Halve the picture; dlib adds tensors of different sizes by padding the smaller with zeros."""
        inner = self.convolve(self.convolve(data, 2, 0), 1, 1, relu=False)
        around = self.graph.node("AveragePool", [data], kernel_shape=[2, 2], strides=[2, 2])
        inner_side, around_side = (self._side - 3) // 2 + 1, (self._side - 2) // 2 + 1
        if inner_side < around_side:
            missing = around_side - inner_side
            inner = self.graph.node("Pad", [inner, self.graph.indices(0, 0, 0, 0, 0, 0, missing, missing)])
        if channels > self._channels:
            extra = channels - self._channels
            around = self.graph.node("Pad", [around, self.graph.indices(0, 0, 0, 0, 0, extra, 0, 0)])
        self._side, self._channels = max(inner_side, around_side), channels
        return self.graph.node("Relu", [self.graph.node("Add", [inner, around])])


def convert_dlib(blob: bytes) -> onnx.ModelProto:
    """The network as an ONNX model with float32 weights; [n,3,150,150] RGB 0..255 in, [n,128] out."""
    weights = read_weights(blob)
    net = _FaceNet(weights.convolutions)
    data = net.stem("input")
    for kind, channels in _BLOCKS:
        data = net.residual(data) if kind == "residual" else net.down(data, channels)
    flat = net.graph.node("Flatten", [net.graph.node("GlobalAveragePool", [data])])
    net.graph.node("MatMul", [flat, net.graph.constant(weights.projection)], "descriptor")
    shapes = {"input": ["n", 3, INPUT_SIZE, INPUT_SIZE]}, {"descriptor": ["n", 128]}
    return net.graph.model("dlib_resnet", *shapes)
