"""Builds an ONNX graph node by node, and stores its weights in 16 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8
Shape = Sequence[int | str]


class GraphBuilder:
    """Collects nodes and constants; names that are not given are numbered."""

    def __init__(self, prefix: str = "") -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._prefix = prefix
        self._count = 0

    def _fresh(self, kind: str) -> str:
        self._count += 1
        return f"{self._prefix}{kind}{self._count}"

    def constant(self, array: npt.ArrayLike, name: str | None = None) -> str:
        """Add a constant; its name."""
        name = name or self._fresh("w")
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def indices(self, *values: int) -> str:
        """Add a constant of 64-bit integers; its name."""
        return self.constant(np.array(values, np.int64))

    def node(self, op: str, inputs: Sequence[str], output: str | None = None, name: str = "", **attributes: Any) -> str:
        """Add a node with one output; the output's name."""
        output = output or self._fresh("t")
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=name, **attributes))
        return output

    def model(self, name: str, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> onnx.ModelProto:
        """The checked model of all that was added; float32 in, float32 out."""
        graph = helper.make_graph(self.nodes, name, _values(inputs), _values(outputs), self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        return model


def _values(shapes: Mapping[str, Shape]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]


def halve_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Store each larger float32 weight as float16 with a cast in front: half the size, computed in float32 still."""
    casts: list[onnx.NodeProto] = []
    stored: list[onnx.TensorProto] = []
    for weight in model.graph.initializer:
        array = numpy_helper.to_array(weight)
        # Small constants are coefficients of the computation itself, where 16 bits would show.
        if array.dtype == np.float32 and array.size > 64:
            half = f"{weight.name}_h"
            stored.append(numpy_helper.from_array(array.astype(np.float16), half))
            casts.append(helper.make_node("Cast", [half], [weight.name], to=TensorProto.FLOAT))
        else:
            stored.append(weight)
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(stored)
    onnx.checker.check_model(model)
    return model
