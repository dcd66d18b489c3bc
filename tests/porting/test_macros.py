"""Macros of a project that make a device of an argument: CUDA becomes PrivateUse1 where they are used, in whichever file."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchada.porting import CHECK, port_files, port_source, port_tree

pytestmark = pytest.mark.once

# The shape of mmcv's registry.
REGISTRY = b"""#define REGISTER_DEVICE_IMPL(key, device, value)           \\
  struct key##_##device##_registerer {                     \\
    key##_##device##_registerer() {                        \\
      DEVICE_REGISTRY(key).Register(at::k##device, value); \\
    }                                                      \\
  };                                                       \\
  static key##_##device##_registerer _##key##_##device##_registerer_;
"""
USES = b"REGISTER_DEVICE_IMPL(nms_impl, CUDA, nms_cuda);\nREGISTER_DEVICE_IMPL(nms_impl, CPU, nms_cpu);\nOTHER(nms, CUDA);\n"
PORTED = USES.replace(b"CUDA, nms_cuda", b"PrivateUse1, nms_cuda")


def test_the_argument_is_translated_where_the_macro_is_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/registry.hpp").write_bytes(REGISTRY)
    (tmp_path / "p/bind.cpp").write_bytes(USES)
    tree = port_tree(tmp_path / "p", tmp_path / "out")
    assert (tmp_path / "out/bind.cpp").read_bytes() == PORTED
    assert (tmp_path / "out/registry.hpp").read_bytes() == REGISTRY
    assert [(file.path, each.kind, each.line) for file, each in tree.findings] == [("bind.cpp", CHECK, 3)]


def test_a_build_does_so_too_and_notices_when_the_macro_changes(tmp_path: Path) -> None:
    (tmp_path / "registry.hpp").write_bytes(REGISTRY)
    (tmp_path / "bind.cpp").write_bytes(USES)
    files = [tmp_path / "registry.hpp", tmp_path / "bind.cpp"]
    port_files(files, tmp_path, tmp_path / "out")
    assert (tmp_path / "out/bind.cpp").read_bytes() == PORTED
    (tmp_path / "registry.hpp").write_bytes(REGISTRY.replace(b"at::k##device", b"device"))
    port_files(files, tmp_path, tmp_path / "out")
    assert (tmp_path / "out/bind.cpp").read_bytes() == USES


@pytest.mark.parametrize(
    "body",
    ["at::k##dev", "c10::DeviceType::dev", "c10::DispatchKey::dev", "TORCH_LIBRARY_IMPL(my_ops, dev, m) { f(m); }"],
)
def test_a_macro_of_the_same_source_counts(body: str) -> None:
    source = f"#define REG(op, dev) \\\n  g(op, {body})\nREG(f(1, 2), CUDA)\n"
    result = port_source(source.encode())
    assert result.text.decode() == source.replace("CUDA)", "PrivateUse1)") and not result.findings


def test_calls_among_the_arguments_are_not_the_macro() -> None:
    before = "#define REG(op, dev, f) g(op, at::k##dev, f)\n"
    assert b"PrivateUse1, f(3))" in port_source(f"{before}REG(f(g(1), h((2))), CUDA, f(3))".encode()).text
    assert b"CUDA)" in port_source(f"{before}REG(f, g, h(1, CUDA))".encode()).text, "an argument of h"
    assert b"CUDA)" in port_source(f"{before}REG)(CUDA)".encode()).text


@pytest.mark.parametrize("text", ['"a//b"', '"/*"', '"*/" /* " */', '"\\"//"', "f /* ( */", "// (\n f"])
def test_strings_that_hold_a_mark_of_a_comment_are_none(text: str) -> None:
    source = f"#define REG(op, s, dev) g(op, at::k##dev)\nREG(f, {text}, /* h( */ CUDA) // x\n"
    result = port_source(source.encode())
    assert result.text.decode() == source.replace("CUDA)", "PrivateUse1)") and not result.findings


@pytest.mark.parametrize("body", ["dev", "#dev", "block##dev", "at::kCPU", "g(dev)"])
def test_a_macro_that_makes_no_device_is_reported_as_before(body: str) -> None:
    source = f"#define REG(op, dev) h({body}, op)\nREG(f, CUDA)\n"
    result = port_source(source.encode())
    assert result.text.decode() == source and [(each.kind, each.line) for each in result.findings] == [(CHECK, 2)]
