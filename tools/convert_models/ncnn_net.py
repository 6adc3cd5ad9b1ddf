"""Reads a network of the ncnn framework (a text of layers and a file of weights) into ONNX.

Knows the layers that upscalers in the style of waifu2x and Real-ESRGAN are made of, and refuses others.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from tools.convert_models.graph import GraphBuilder

Weights = npt.NDArray[np.float32]

_FIRST_ARRAY_KEY = 23300
_HALF_PRECISION = 0x01306B47
_FULL_PRECISION = 0


@dataclass(frozen=True, slots=True)
class Layer:
    """One line of the .param file; `numbers` by ncnn's parameter ids, `arrays` likewise."""

    kind: str
    name: str
    inputs: list[str]
    outputs: list[str]
    numbers: dict[int, float]
    arrays: dict[int, list[float]]

    def whole(self, key: int, default: int = 0) -> int:
        """A parameter that is a count."""
        return int(self.numbers.get(key, default))


def parse_layers(text: str) -> list[Layer]:
    """The layers of a .param file in order."""
    lines = [line.split() for line in text.splitlines()[2:] if line.strip()]
    return [_parse_layer(fields) for fields in lines]


def _parse_layer(fields: list[str]) -> Layer:
    kind, name, taken, given = fields[0], fields[1], int(fields[2]), int(fields[3])
    inputs, outputs = fields[4 : 4 + taken], fields[4 + taken : 4 + taken + given]
    numbers: dict[int, float] = {}
    arrays: dict[int, list[float]] = {}
    for pair in fields[4 + taken + given :]:
        key, value = pair.split("=")
        if int(key) <= -_FIRST_ARRAY_KEY:  # an array: its length, then its values
            arrays[-int(key) - _FIRST_ARRAY_KEY] = [float(each) for each in value.split(",")[1:]]
        else:
            numbers[int(key)] = float(value)
    return Layer(kind, name, inputs, outputs, numbers, arrays)


class WeightStream:
    """Reads a .bin file from front to back, in the order in which the layers ask."""

    def __init__(self, blob: bytes) -> None:
        self._blob = blob
        self._at = 0

    def tagged(self, count: int) -> Weights:
        """Weights that say themselves whether they are stored in 16 or 32 bits."""
        (tag,) = struct.unpack_from("<I", self._blob, self._at)
        self._at += 4
        if tag == _FULL_PRECISION:
            return self.plain(count)
        if tag != _HALF_PRECISION:
            raise ValueError(f"weights of an unknown kind: {tag:#x}")
        values = np.frombuffer(self._blob, "<f2", count, self._at).astype(np.float32)
        self._at += -(-2 * count // 4) * 4  # padded to four bytes
        return values

    def plain(self, count: int) -> Weights:
        """32-bit weights."""
        values = np.frombuffer(self._blob, "<f4", count, self._at).copy()
        self._at += 4 * count
        return values

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._blob)


class NcnnNetwork:
    """Translates layer by layer; the output of the last layer is the output of the network."""

    def __init__(self, layers: list[Layer], weights: WeightStream) -> None:
        self._layers = layers
        self._weights = weights
        self._graph = GraphBuilder()
        self._same_as: dict[str, str] = {}
        self._translate: dict[str, Callable[[Layer, list[str], str], object]] = {
            "Convolution": self._convolution,
            "Deconvolution": self._convolution,
            "PReLU": self._prelu,
            "PixelShuffle": self._pixel_shuffle,
            "BinaryOp": self._binary,
            "Eltwise": self._sum,
            "Concat": self._concat,
        }

    def convert(self) -> onnx.ModelProto:
        """The ONNX model; [1,3,h,w] in and [1,3,H,W] out."""
        entry = self._layers[0].outputs[0]
        for layer in self._layers:
            inputs = [self._same_as.get(each, each) for each in layer.inputs]
            if layer.kind == "Split":
                self._same_as |= dict.fromkeys(layer.outputs, inputs[0])
            elif layer.kind != "Input":
                self._translate[layer.kind](layer, inputs, layer.outputs[0])
        if not self._weights.is_at_end:
            raise ValueError("the layers do not use up the weights")
        return self._graph.model("ncnn", {entry: [1, 3, "h", "w"]}, {self._layers[-1].outputs[0]: [1, 3, "H", "W"]})

    def _convolution(self, layer: Layer, inputs: list[str], output: str) -> None:
        channels, width = layer.whole(0), layer.whole(1)
        height = layer.whole(11, width)
        kernel = self._weights.tagged(layer.whole(6)).reshape(channels, -1, height, width)
        bias = self._weights.plain(channels) if layer.whole(5) else np.zeros(channels, np.float32)
        transposed = layer.kind == "Deconvolution"
        if transposed:  # ONNX wants the channels that go in first
            kernel = kernel.transpose(1, 0, 2, 3)
        activation = layer.whole(9)
        result = output if activation == 0 else f"{output}_pre"
        self._graph.node(
            "ConvTranspose" if transposed else "Conv",
            [inputs[0], self._graph.constant(kernel, f"{layer.name}_w"), self._graph.constant(bias, f"{layer.name}_b")],
            result,
            layer.name,
            kernel_shape=[height, width],
            strides=[layer.whole(3, 1)] * 2,
            pads=[layer.whole(4)] * 4,
            dilations=[layer.whole(2, 1)] * 2,
        )
        if activation:
            self._activate(layer, result, output)

    def _activate(self, layer: Layer, result: str, output: str) -> None:
        match layer.whole(9):
            case 1:
                self._graph.node("Relu", [result], output)
            case 2:
                self._graph.node("LeakyRelu", [result], output, alpha=layer.arrays[10][0])
            case other:
                raise ValueError(f"{layer.name}: activation {other} is not known")

    def _prelu(self, layer: Layer, inputs: list[str], output: str) -> None:
        slopes = self._weights.plain(layer.whole(0)).reshape(-1, 1, 1)
        self._graph.node("PRelu", [inputs[0], self._graph.constant(slopes, f"{layer.name}_s")], output)

    def _pixel_shuffle(self, layer: Layer, inputs: list[str], output: str) -> None:
        self._graph.node("DepthToSpace", inputs[:1], output, blocksize=layer.whole(0), mode="CRD")

    def _binary(self, layer: Layer, inputs: list[str], output: str) -> None:
        self._graph.node(("Add", "Sub", "Mul", "Div")[layer.whole(0)], inputs, output)

    def _sum(self, layer: Layer, inputs: list[str], output: str) -> None:
        if layer.whole(0) != 1:
            raise ValueError(f"{layer.name}: only sums are known")
        scaled = [
            each if factor == 1 else self._graph.node("Mul", [each, self._graph.constant(np.float32(factor))])
            for each, factor in zip(inputs, layer.arrays.get(1, [1.0] * len(inputs)), strict=True)
        ]
        self._graph.node("Sum", scaled, output)

    def _concat(self, layer: Layer, inputs: list[str], output: str) -> None:
        self._graph.node("Concat", inputs, output, axis=layer.whole(0) + 1)


def convert_ncnn(param: bytes, weights: bytes) -> onnx.ModelProto:
    """An ncnn network's two files as an ONNX model with float32 weights."""
    return NcnnNetwork(parse_layers(param.decode()), WeightStream(weights)).convert()
