"""A network from an ONNX model: its graph and the shapes that ONNX infers."""

from pathlib import Path

from cdma.errors import UserError, reason_of, require
from cdma.offload.networks.graph import IMAGE, Layer, Network, Shape

_POOLS = {
    "MaxPool": "maxpool",
    "AveragePool": "avgpool",
    "GlobalAveragePool": "avgpool",
    "GlobalMaxPool": "maxpool",
}
_SAME = {"BatchNormalization": "bn", "LRN": "lrn", "Dropout": "dropout"}
_JOINS = {"Add": "add", "Sum": "add", "Concat": "concat"}
#: Operators whose output is their first input, for this model; factors of constants too.
_ALIASES = {"Reshape", "Flatten", "Identity", "Softmax", "LogSoftmax", "Squeeze", "Mul", "Add"}
_CONSTANTS = {"Constant", "ConstantOfShape", "Unsqueeze", "Shape", "Gather"}


def read_onnx(path: str | Path) -> Network:
    """Network of an ONNX model with one input; ReLUs are in place.

    Parameters
    ----------
    path : str or Path
        ``.onnx`` file; weights may be missing, their shapes may not.

    Raises
    ------
    MissingPackageError
        When onnx is not installed.
    UserError
        When the file cannot be read, or has an operator or a shape that the model does not know.
    """
    onnx = require("onnx", extra="onnx", verb="cdma offload with an ONNX model")
    try:
        model = onnx.shape_inference.infer_shapes(onnx.load(str(path)))
    except Exception as error:  # onnx raises what protobuf raises
        problem = " ".join(reason_of(error).split())
        raise UserError(f"{path}: cannot read this ONNX model ({problem})") from None
    return _Reader(onnx, model.graph, Path(path)).network()


class _Reader:
    def __init__(self, onnx, graph, path: Path):
        self._onnx, self._graph, self._path = onnx, graph, path
        self._shapes = {
            info.name: [dim.dim_value for dim in info.type.tensor_type.shape.dim]
            for info in (*graph.value_info, *graph.input, *graph.output)
        }
        self._shapes |= {weight.name: list(weight.dims) for weight in graph.initializer}
        self._readers: dict[str, int] = {}
        for node in graph.node:
            for name in node.input:
                self._readers[name] = self._readers.get(name, 0) + 1
        self._layers: list[Layer] = []
        self._place: dict[str, int] = {}

    def network(self) -> Network:
        weights = {weight.name for weight in self._graph.initializer}
        images = [each.name for each in self._graph.input if each.name not in weights]
        images = [name for name in images if len(self._shapes[name]) == 4]
        if len(images) != 1:
            raise UserError(f"{self._path}: expected one input of four axes, not {len(images)}")
        self._place[images[0]] = IMAGE
        for node in self._graph.node:
            if node.op_type not in _CONSTANTS:
                self._add(node)
        if not self._layers:
            raise UserError(f"{self._path}: has no layer")
        title = self._path.stem
        image = self._shape(images[0])
        return Network(title, title, image, tuple(self._layers), str(self._path))

    def _shape(self, name: str) -> Shape:
        axes = self._shapes.get(name, [])[1:]
        if not 1 <= len(axes) <= 3 or min(axes) < 1:
            raise UserError(f"{self._path}: the shape of {name} is not known: {axes}")
        return tuple([*axes, 1, 1][:3])

    def _add(self, node) -> None:
        data = [name for name in node.input if name in self._place]
        kind = node.op_type
        if not data and kind in _ALIASES:  # works on constants
            return
        if not data:
            raise UserError(f"{self._path}: {kind} {node.output[0]} reads no layer")
        if kind in _ALIASES and len(data) == 1:
            self._place[node.output[0]] = self._place[data[0]]
            return
        if kind == "Relu":
            self._relu(node, data[0])
            return
        options = {a.name: self._onnx.helper.get_attribute_value(a) for a in node.attribute}
        more = {}
        if kind == "Conv":
            more = {
                "kernel": options.get("kernel_shape", self._shapes[node.input[1]][2:])[0],
                "stride": options.get("strides", [1])[0],
                "groups": options.get("group", 1),
            }
        elif kind in _POOLS:
            whole = self._shape(data[0])[1]
            more = {
                "kernel": options.get("kernel_shape", [whole])[0],
                "stride": options.get("strides", [1])[0],
            }
        names = {"Conv": "conv", "Gemm": "fc", "MatMul": "fc"} | _POOLS | _SAME | _JOINS
        if kind not in names:
            raise UserError(f"{self._path}: the operator {kind} ({node.output[0]}) is not known")
        inputs = tuple(self._place[name] for name in data)
        first = self._shape(data[0]) if inputs[0] == IMAGE else self._layers[inputs[0]].shape
        name, shape = node.output[0], self._shape(node.output[0])
        self._layers.append(Layer(name, names[kind], inputs, first, shape, **more))
        self._place[name] = len(self._layers) - 1

    def _relu(self, node, source: str) -> None:
        place = self._place[source]
        if place == IMAGE or self._readers[source] > 1:
            raise UserError(f"{self._path}: the ReLU {node.output[0]} cannot be in place")
        layer = self._layers[place]
        fields = {**vars(layer), "relu": True}
        self._layers[place] = Layer(**fields)
        self._place[node.output[0]] = place
