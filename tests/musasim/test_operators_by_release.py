"""The operators of each simulated release against the vendor's list, name by name (torch_musa_operators.tsv).

The list is musa_functions.yaml of 2.7.1 and of 2.9.1.post1: operators, and the dispatch keys that they are registered for. That of
2.11.0 was not read, so it has 2.9.1's here. What the vendor registers in C++ besides is not in it, such as kernels of quantized
tensors.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from musasim.base import release
from support.interpreter import ROOT, TORCH, Interpreter

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
TABLE = ROOT / "src/musasim/torch_musa/native/ops/unregistered.h"
KEYS = {
    "dense": "PrivateUse1",
    "sparse": "SparsePrivateUse1",
    "csr": "SparseCsrPrivateUse1",
    "nested": "NestedTensorPrivateUse1",
}
RELEASES = [name for name in release.VERSIONS if release.takes(name, torch.__version__)]
LOOK = """
import json
import musasim
musasim.install()
import torch, torch_musa
has = torch._C._dispatch_has_kernel_for_dispatch_key
names = sorted(name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
print(json.dumps({key: [name[6:] for name in names if has(name, key)] for key in KEYS}))
"""
COMPOSED = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
# What the simulator lacks of the lists, as patterns of names, with the reason.
LACKING = {
    "dense": {
        r"_(cslt_.*|sparse_semi_structured.*|to_sparse_semi_structured)": "matrices with every other two elements left out",
    },
    "csr": {
        r"_spsolve": "no kernel of PyTorch's for the CPU",
    },
    "nested": {
        r"_native_multi_head_attention|_transform_bias_rescale_qkv|_transformer_encoder_layer_fwd": (
            "PyTorch's kernel calls others of the device past the dispatcher"
        ),
    },
}
# What the simulator has beyond them.
BEYOND = {
    "dense": {
        r"_copy_from_and_resize": "the vendor registers it in C++",
        r"_empty_per_channel_affine_quantized": "it is found by the scales, which are dense; listed as one of quantized tensors",
        r"from_file|_foobar|_test_.*|_make_dep_token|_functional_assert_async\.msg": "none takes a tensor of a device from users",
        r"(narrow_copy\.out|quantize_per_tensor\.tensors)": "other overloads are listed, and names are refused as a whole",
    },
}


@cache
def seen(name: str) -> dict[str, set[str]]:
    keys = (*KEYS.values(), "CPU", *COMPOSED)
    found = Interpreter(env={"TORCHADA_DISABLE": "1", "MUSASIM_RELEASE": name}).json(LOOK.replace("KEYS", repr(keys)))
    return {key: set(names) for key, names in found.items()}


def listed(name: str, kind: str) -> set[str]:
    with (HERE / "torch_musa_operators.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    column = name if name in rows[0] else "2.9.1"
    return {row["operator"] for row in rows if kind in row[column].split(",")}


def refused(name: str) -> tuple[set[str], set[str]]:
    """Names, and names of dense tensors alone, that the simulated release refuses although the CPU has a kernel."""
    tables = dict(re.findall(r"inline bool (\w+)\(.*?\{(.*?)\n\}", TABLE.read_text(encoding="utf-8"), re.DOTALL))
    words = {function: set(re.findall(r'"(\w+)"', body)) for function, body in tables.items()}
    if name != "2.7.1":
        return words["is_in_no_release"], set()
    return words["is_in_no_release"] | words["comes_with_2_9_1"], words["is_unregistered_of_dense"]


def base(operator: str) -> str:
    return operator.partition(".")[0].removesuffix("_")


def offered(name: str, kind: str) -> set[str]:
    found = seen(name)
    own = found[KEYS[kind]]
    if kind != "dense":
        return own
    without = set().union(*refused(name))
    return own | {operator for operator in found["CPU"] if base(operator) not in without}


def unexplained(names: set[str], reasons: dict[str, str]) -> list[str]:
    return sorted(name for name in names if not any(re.fullmatch(pattern, name) for pattern in reasons))


def composed(name: str) -> set[str]:
    return set().union(*(seen(name)[key] for key in COMPOSED))


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", RELEASES)
def test_a_release_has_the_operators_of_its_list(name: str, kind: str) -> None:
    declared = set().union(*seen(name).values())
    lacking = (listed(name, kind) & declared) - offered(name, kind)
    if kind == "dense":
        lacking -= composed(name)
    assert unexplained(lacking, LACKING.get(kind, {})) == []


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", RELEASES)
def test_a_release_has_no_others(name: str, kind: str) -> None:
    beyond = offered(name, kind) - listed(name, kind)
    if kind == "dense":
        beyond -= composed(name)
    assert unexplained(beyond, BEYOND.get(kind, {})) == []


@pytest.mark.skipif(
    TORCH < (2, 9), reason="this torch lacks operators that newer releases of torch_musa have kernels for"
)
def test_each_exception_is_one() -> None:
    """With the newest release: a reason that explains nothing is out of date."""
    name = RELEASES[-1]
    gaps = (
        (LACKING, lambda kind: listed(name, kind) - offered(name, kind)),
        (BEYOND, lambda kind: offered(name, kind) - listed(name, kind)),
    )
    assert list(_idle(gaps)) == []


def _idle(gaps: Any) -> Iterator[str]:
    for reasons, gap in gaps:
        for kind, patterns in reasons.items():
            found = gap(kind)
            yield from (pattern for pattern in patterns if not any(re.fullmatch(pattern, name) for name in found))
