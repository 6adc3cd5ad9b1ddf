"""Writes PRelu in operations that ONNX Runtime computes eight or sixteen channels at a time on a CPU.

Its own PRelu goes value by value, and its convolutions must reorder what they hand over and take back. With a slope a
for each channel, PRelu(x) is a x + (1 - a) Relu(x): two depthwise convolutions of one weight each, and a sum.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from tools.convert_models.graph import GraphBuilder


def unfold_slopes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model without PRelu, where its slopes are constants, one for each channel; weights may be halved."""
    if not any(node.op_type == "PRelu" for node in model.graph.node):
        return model
    known = _constants(model)
    graph = GraphBuilder("slope_")
    for node in model.graph.node:
        slopes = known.get(node.input[1]) if node.op_type == "PRelu" else None
        if slopes is None:
            graph.nodes.append(node)
            continue
        slopes = slopes.astype(np.float32).reshape(-1)
        above = _scaled(graph, graph.node("Relu", [node.input[0]]), 1 - slopes)
        graph.node("Add", [above, _scaled(graph, node.input[0], slopes)], node.output[0])
    del model.graph.node[:]
    model.graph.node.extend(graph.nodes)
    model.graph.initializer.extend(graph.constants)
    _drop_unused(model)
    onnx.checker.check_model(model)
    return model


def _scaled(graph: GraphBuilder, data: str, factors: npt.NDArray[np.float32]) -> str:
    """Each channel of [1,c,h,w] times its factor."""
    weights = graph.constant(factors.reshape(-1, 1, 1, 1))
    return graph.node("Conv", [data, weights], group=factors.size, kernel_shape=[1, 1])


def _constants(model: onnx.ModelProto) -> dict[str, npt.NDArray[np.generic]]:
    """All constants by name, those that are stored in 16 bits by the name of their cast."""
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    casts = [node for node in model.graph.node if node.op_type == "Cast" and node.input[0] in constants]
    return constants | {node.output[0]: constants[node.input[0]] for node in casts}


def _drop_unused(model: onnx.ModelProto) -> None:
    """Take away casts and constants that nothing reads any more."""
    for _ in range(2):  # a constant may feed a cast
        read = {name for node in model.graph.node for name in node.input} | {each.name for each in model.graph.output}
        nodes = [node for node in model.graph.node if read.intersection(node.output)]
        kept = [each for each in model.graph.initializer if each.name in read]
        del model.graph.node[:], model.graph.initializer[:]
        model.graph.node.extend(nodes)
        model.graph.initializer.extend(kept)
