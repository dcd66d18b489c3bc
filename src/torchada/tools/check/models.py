"""How much memory a model needs that a program states, by its name ("opt-125m") or by its numbers of layers, heads and features."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torchada.report.severity import NOTE, WARNING
from torchada.tools.check.findings import MODEL, Finding

#: What stands in a line of each program that states a model; without it nobody looks any further.
SIGNS = (b"from_pretrained", b"n_head", b"num_attention_heads", b"num_heads", b"nhead")
# In GB, as public descriptions of the chips give it; none of them was asked.
CHIPS = {"MTT S80": 16, "MTT S4000": 48, "MTT S5000": 80}
_FEATURES = ("hidden_size", "n_embd", "d_model", "embed_dim", "n_state")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "nhead")
_INNER = ("intermediate_size", "ffn_dim", "n_inner", "dim_feedforward")
_WORDS = ("vocab_size", "n_vocab")
_GATED = ("silu", "swiglu", "swish", "geglu")
_SIZE = re.compile(r"(?<![\w.])(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z0-9])", re.IGNORECASE)
_BYTES = {"float16": 2.0, "half": 2.0, "bfloat16": 2.0, "auto": 2.0, "float64": 8.0}
_FLOAT32 = 4.0
_QUANTIZED = {"load_in_8bit": 1.0, "load_in_4bit": 0.5}
_WITH_ADAM = 4  # the weights, as much again for gradients, and twice that for its two averages


class Model(NamedTuple):
    """A model that is stated: its name, its parameters, the bytes of each, and what of it is not known."""

    name: str
    parameters: float
    bytes: float = _FLOAT32
    without: str = ""


def stated(tree: ast.Module, lines: Sequence[str]) -> Iterator[tuple[ast.AST, Finding]]:
    """Each model that a program states, with the node where it does."""
    text = "\n".join(lines)
    if not any(sign.decode() in text for sign in SIGNS):
        return
    for node in ast.walk(tree):
        model = _of_call(node) if isinstance(node, ast.Call) else None
        if model is None and isinstance(node, (ast.Call, ast.Dict, ast.ClassDef, ast.Module)):
            model = of_numbers(_name(node), _constants(node))
        if model is not None:
            place = node if not isinstance(node, ast.Module) else _first_number(node)
            yield place, finding(model)


def finding(model: Model) -> Finding:
    """What is to be said about a model; it is a warning where no chip has the memory for its weights."""
    weights = model.parameters * model.bytes
    need = f"about {_number(model.parameters)} parameters{model.without}: {_gigabytes(weights)} of weights"
    if model.bytes >= 2:
        need += f", and {_gigabytes(weights * _WITH_ADAM)} with gradients and Adam's state to train it"
    chips = ", ".join(f"{name} {size} GB" for name, size in CHIPS.items())
    severity = WARNING if weights > max(CHIPS.values()) * 1e9 else NOTE
    return Finding(MODEL, severity, model.name, f"{need}; activations come on top ({chips})", "")


def _of_call(node: ast.Call) -> Model | None:
    """X.from_pretrained("org/name-7b", torch_dtype=torch.float16)."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    given = node.args[0] if node.args else None
    if called != "from_pretrained" or not isinstance(given, ast.Constant) or not isinstance(given.value, str):
        return None
    owner = ast.unparse(node.func)
    match = None if re.search("tokenizer|processor|config", owner, re.IGNORECASE) else _SIZE.search(given.value)
    if match is None:
        return None
    parameters = int(match[1] or 1) * float(match[2]) * (1e9 if match[3] in "bB" else 1e6)
    return Model(given.value[:80], parameters, _bytes({word.arg: word.value for word in node.keywords}))


def _bytes(keywords: Mapping[str | None, ast.expr]) -> float:
    """How many bytes a parameter has that is loaded with these arguments."""
    for name, size in _QUANTIZED.items():
        value = keywords.get(name)
        if isinstance(value, ast.Constant) and value.value is True:
            return size
    value = keywords.get("torch_dtype", keywords.get("dtype"))
    text = "" if value is None else ast.unparse(value).strip("'\"").rpartition(".")[2]
    return _BYTES.get(text, _FLOAT32)


def of_numbers(name: str, numbers: Mapping[str, Any]) -> Model | None:
    """A transformer of these numbers; None where they do not say its layers, heads and features."""
    features, layers, heads = (_first(numbers, names) for names in (_FEATURES, LAYERS, _HEADS))
    if not (features and layers and heads):
        return None
    inner = _first(numbers, _INNER) or 4 * features
    shared = (_first(numbers, ("num_key_value_heads",)) or heads) / heads
    attention = features * features * (2 + 2 * shared)
    matrices = 3 if str(numbers.get("hidden_act", "")).lower() in _GATED else 2
    words = _first(numbers, _WORDS)
    tables = 2 if numbers.get("tie_word_embeddings") is False else 1
    parameters = layers * (attention + matrices * features * inner) + words * features * tables
    return Model(name, parameters, without="" if words else " without embeddings")


def _first(numbers: Mapping[str, Any], names: Sequence[str]) -> int:
    values = (numbers.get(name) for name in names)
    return next((value for value in values if type(value) is int and value > 0), 0)


def _constants(node: ast.Call | ast.Dict | ast.ClassDef | ast.Module) -> dict[str, Any]:
    """The names that are given constants: keywords of a call, keys of a dictionary, fields of a class, variables of a script."""
    pairs: list[tuple[Any, ast.expr | None]] = []
    if isinstance(node, ast.Call):
        pairs = [(keyword.arg, keyword.value) for keyword in node.keywords]
    elif isinstance(node, ast.Dict):
        pairs = [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values, strict=True)]
    else:
        pairs = [pair for statement in node.body for pair in _assigned(statement)]
    return {name: value.value for name, value in pairs if isinstance(value, ast.Constant)}


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id, getattr(statement, "value", None)


def _first_number(module: ast.Module) -> ast.AST:
    names = (*LAYERS, *_FEATURES)
    places = (node for node in module.body for name, _ in _assigned(node) if name in names)
    return next(places)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and ast.unparse(node.func) != "dict":
        return ast.unparse(node.func)[:80]
    return node.name if isinstance(node, ast.ClassDef) else "a model"


def _number(parameters: float) -> str:
    return f"{parameters / 1e9:.1f} billion" if parameters >= 1e9 else f"{parameters / 1e6:.0f} million"


def _gigabytes(size: float) -> str:
    if size < 1e9:
        return f"{size / 1e6:.0f} MB"
    return f"{size / 1e9:.1f} GB" if size < 1e10 else f"{size / 1e9:.0f} GB"
