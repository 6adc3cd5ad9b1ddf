"""Reads MediaPipe's TensorFlow Lite models into ONNX, and writes MediaPipe's own operations in standard ones.

tf2onnx translates the standard operations and keeps the others as TFL_*; what these compute is MediaPipe's
`landmarks_to_transform_matrix`, `transform_tensor_bilinear`, `transform_landmarks` and `transpose_conv_bias`.
A point transform here is a [2,3] matrix: it takes output pixels (x, y, 1) to input pixels.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from tools.convert_models.graph import IR_VERSION, OPSET, GraphBuilder

_FEATURE_SIDE = 48
"""Side of the feature map from which the attention heads of the face mesh take their crops: a quarter of the input."""


def convert_tflite(blob: bytes) -> onnx.ModelProto:
    """A TensorFlow Lite model as an ONNX model of standard operations with float32 weights."""
    model = _OperationRewriter(_translate(blob)).rewrite()
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    return model


def _translate(blob: bytes) -> onnx.ModelProto:
    try:
        # Named at run time: TensorFlow weighs half a gigabyte, and nothing but these four models needs it.
        translator = importlib.import_module("tf2onnx.convert")
    except ImportError as error:
        raise SystemExit("MediaPipe's models need tf2onnx and tensorflow-cpu; see README.md") from error
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(blob)
        model, _ = translator.from_tflite(str(path), opset=OPSET)
    return model


class _OperationRewriter:
    """Replaces nodes one by one and keeps the order."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._graph = GraphBuilder("rewritten_")
        self._constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        self._transforms: set[str] = set()
        self._rewrites: dict[str, Callable[[onnx.NodeProto], None]] = {
            "TFL_Landmarks2TransformMatrix": self._transform_from_landmarks,
            "TFL_TransformTensorBilinear": self._crop,
            "TFL_TransformLandmarks": self._transform_landmarks,
            "TFL_Convolution2DTransposeBias": self._transposed_convolution,
        }

    def rewrite(self) -> onnx.ModelProto:
        for node in self._model.graph.node:
            if node.op_type == "Mul" and node.input[0] in self._transforms:
                self._scale_transform(node)
            elif (rewrite := self._rewrites.get(node.op_type)) is not None:
                rewrite(node)
            else:
                self._graph.nodes.append(node)
        graph = self._model.graph
        del graph.node[:]
        graph.node.extend(self._graph.nodes)
        graph.initializer.extend(self._graph.constants)
        return self._model

    def _rows(self, data: str, *rows: int) -> str:
        return self._graph.node("Gather", [data, self._graph.indices(*rows)], axis=0)

    def _columns(self, data: str, start: int, end: int) -> str:
        """Columns of a matrix: [rows, end - start]."""
        bounds = [self._graph.indices(each) for each in (start, end, 1)]  # the last is the axis
        return self._graph.node("Slice", [data, *bounds])

    def _transform_from_landmarks(self, node: onnx.NodeProto) -> None:
        """The upright box around some landmarks, turned so that the line between two of them lies level."""
        attributes = _attributes(node)
        size = np.array([attributes["output_width"], attributes["output_height"]], np.float32)
        scale = np.array([attributes["scale_x"], attributes["scale_y"]], np.float32)
        make, constant = self._graph.node, self._graph.constant
        points = make("Reshape", [node.input[0], self._graph.indices(-1, 3)])
        plane = self._columns(points, 0, 2)

        left = self._rows(plane, attributes["left_rotation_idx"])
        right = self._rows(plane, attributes["right_rotation_idx"])
        line = make("Sub", [right, left])
        direction = make("Div", [line, make("ReduceL2", [line], axes=[1], keepdims=1)])
        cosine, sine = self._columns(direction, 0, 1), self._columns(direction, 1, 2)
        level = make("Concat", [cosine, sine], axis=1)
        upright = make("Concat", [make("Neg", [sine]), cosine], axis=1)
        to_level = make("Concat", [level, upright], axis=0)
        from_level = make("Transpose", [to_level], perm=[1, 0])

        turned = make("MatMul", [self._rows(plane, *attributes["subset_idxs"]), from_level])
        highest = make("ReduceMax", [turned], axes=[0], keepdims=1)
        lowest = make("ReduceMin", [turned], axes=[0], keepdims=1)
        middle = make("Mul", [make("Add", [highest, lowest]), constant(np.float32(0.5))])
        centre = make("Transpose", [make("MatMul", [middle, to_level])], perm=[1, 0])
        per_pixel = make("Mul", [make("Sub", [highest, lowest]), constant((scale / size)[None])])

        linear = make("Mul", [from_level, per_pixel])
        shift = make("Add", [make("MatMul", [linear, constant(-size[:, None] / 2)]), centre])
        self._graph.node("Concat", [linear, shift], node.output[0], axis=1)
        self._transforms.add(node.output[0])

    def _scale_transform(self, node: onnx.NodeProto) -> None:
        """The factor is written for a [4,4] matrix, of which the third row and column say nothing in a plane."""
        factor = self._constants[node.input[1]].reshape(4, 4)[:2, [0, 1, 3]]
        self._graph.node("Mul", [node.input[0], self._graph.constant(factor)], node.output[0])

    def _crop(self, node: onnx.NodeProto) -> None:
        """Sample the feature map between pixel centres; whatever lies outside of it is zero."""
        attributes = _attributes(node)
        width, height = attributes["output_width"], attributes["output_height"]
        make, constant = self._graph.node, self._graph.constant
        features, transform = node.input
        last = constant(np.full((2, 1), _FEATURE_SIDE - 1, np.float32))
        at = make(
            "Sub", [make("MatMul", [transform, constant(_pixel_centres(width, height))]), constant(np.float32(0.5))]
        )

        inside = make("And", [make("GreaterOrEqual", [at, constant(np.float32(0))]), make("LessOrEqual", [at, last])])
        weight = make("ReduceMin", [make("Cast", [inside], to=TensorProto.FLOAT)], axes=[0], keepdims=1)
        weight = make("Reshape", [weight, self._graph.indices(1, 1, height, width)])

        unit = make("Div", [make("Mul", [at, constant(np.float32(2))]), last])
        unit = make("Transpose", [make("Sub", [unit, constant(np.float32(1))])], perm=[1, 0])
        grid = make("Reshape", [unit, self._graph.indices(1, height, width, 2)])
        channels_first = make("Transpose", [features], perm=[0, 3, 1, 2])
        sampled = make("GridSample", [channels_first, grid], mode="bilinear", padding_mode="zeros", align_corners=1)
        self._graph.node("Transpose", [make("Mul", [sampled, weight])], node.output[0], perm=[0, 2, 3, 1])

    def _transform_landmarks(self, node: onnx.NodeProto) -> None:
        make = self._graph.node
        landmarks, transform = node.input
        points = make("Reshape", [landmarks, self._graph.indices(-1, 2)])
        linear = make("Transpose", [self._columns(transform, 0, 2)], perm=[1, 0])
        shift = make("Transpose", [self._columns(transform, 2, 3)], perm=[1, 0])
        moved = make("Add", [make("MatMul", [points, linear]), shift])
        self._graph.node("Reshape", [moved, self._graph.indices(1, -1, 2)], node.output[0])

    def _transposed_convolution(self, node: onnx.NodeProto) -> None:
        """Channels last to channels first and back; the stride is the kernel's side, 2."""
        data, weights, bias = node.input
        kernel = self._constants[weights].transpose(3, 0, 1, 2)
        channels_first = self._graph.node("Transpose", [data], perm=[0, 3, 1, 2])
        grown = self._graph.node(
            "ConvTranspose",
            [channels_first, self._graph.constant(kernel), bias],
            strides=[2, 2],
            kernel_shape=list(kernel.shape[2:]),
        )
        self._graph.node("Transpose", [grown], node.output[0], perm=[0, 2, 3, 1])


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def _pixel_centres(width: int, height: int) -> npt.NDArray[np.float32]:
    """[3, width * height]: x, y and 1 of each pixel's centre, row by row."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    return np.stack([x.ravel() + 0.5, y.ravel() + 0.5, np.ones(width * height, np.float32)])
