"""MUSASIM_FACE: the simulated device under the names of another vendor's adapter."""

from __future__ import annotations

import pytest

from musasim.errors import MusasimFaceError
from musasim.vendors.face import FACES, chosen, translated
from support.interpreter import Interpreter

pytestmark = pytest.mark.once

PROGRAM = """
    import musasim
    musasim.install()
    import {package}, torch
    namespace = torch.{name}
    assert {package}.__simulated__ and torch._C._get_privateuse1_backend_name() == "{name}"
    x = torch.ones(3, device="{name}")
    assert (x + 1).sum().item() == 6 and x.is_{name} and x.device.type == "{name}"
    assert namespace.current_stream().{name}_stream == 0 and len(namespace.default_generators) == namespace.device_count() == 1
    graph = namespace.{upper}Graph()
    with namespace.graph(graph):
        y = x * 3
    graph.replay()
    assert y.tolist() == [3, 3, 3]
    assert torch.distributed.is_backend_available("{collectives}")
    for absent in {absent}:
        assert not hasattr(namespace, absent), absent
    import sys
    assert "torch_musa" not in sys.modules
    try:
        import torch_musa
    except ImportError:
        pass
    else:
        raise SystemExit("the simulator answers to two names")
"""


@pytest.mark.full
@pytest.mark.parametrize(("name", "collectives"), [("npu", "hccl"), ("mlu", "cncl")])
def test_the_simulator_has_the_names_of_the_face(plain: Interpreter, name: str, collectives: str) -> None:
    face = FACES[name]
    words = {
        "package": face.package,
        "name": name,
        "upper": name.upper(),
        "collectives": collectives,
        "absent": [translated(each, face) for each in face.lacks],
    }
    code = PROGRAM
    for word, value in words.items():
        code = code.replace(f"{{{word}}}", str(value))
    plain.run(code, env={"MUSASIM_FACE": name, face.visible: "1"})


@pytest.mark.full
@pytest.mark.parametrize("name", FACES)
def test_a_face_is_found_by_torchada(plain: Interpreter, name: str) -> None:
    code = f"""
        import torch, torchada
        assert torchada.detect_platform().value == "{name}" and torchada.get_backend() is torch.{name}
        assert torch.device("cuda").type == "{name}" and torch.ones(1, device="cuda").is_cuda
        assert torchada.is_gpu_device("{name}:0") and torchada.get_device_name() == "{name}"
    """
    plain.run(code, env={"MUSASIM_FACE": name, "TORCHADA_SIMULATE": "1", "TORCHADA_STRICT": "1"})


@pytest.mark.full
def test_code_that_knows_the_vendor_is_told_the_truth(plain: Interpreter) -> None:
    env = {"MUSASIM_FACE": "npu", "TORCHADA_SIMULATE": "1", "TORCHADA_STRICT": "1"}
    ask = "import torch; print(torch.device('cuda').type, torch.cuda.is_available())"
    assert plain.run(ask, env=env).stdout.split() == ["cuda", "True"]
    assert plain.run(f"{ask}; torch_npu = None", env=env).stdout.split() == ["npu", "False"]
    assert plain.run(f"{ask}; torch_musa = None", env=env).stdout.split() == ["cuda", "True"]


def test_words_are_translated_and_the_simulators_name_is_kept() -> None:
    text = "from musasim.build import load  # torch_musa._MUSAC: MUSAGraph, musa_stream, MUSASIM_FACE"
    expected = "from musasim.build import load  # torch_npu._C: NPUGraph, npu_stream, MUSASIM_FACE"
    assert translated(text, FACES["npu"]) == expected


def test_an_unknown_face_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSASIM_FACE", "gpu")
    with pytest.raises(MusasimFaceError, match="MUSASIM_FACE='gpu': expected musa, npu or mlu"):
        chosen()


def test_ranges_of_the_mlu_face(plain: Interpreter) -> None:
    code = """
        import musasim
        musasim.install()
        import torch, torch_mlu
        cnpx = torch.mlu.cnpx
        assert [cnpx.range_push("outer"), cnpx.range_push("inner")] == [0, 1]
        assert [cnpx.range_pop(), cnpx.range_pop()] == [1, 0] and cnpx.range_pop() < 0
        one, other = cnpx.range_start("a"), cnpx.range_start("b")
        assert one != other and cnpx.range_end(one) is None and cnpx.mark("now") is None
        with cnpx.range("epoch {}", 1):
            assert cnpx.range_push("within") == 1
        try:
            cnpx.mark(1)
        except TypeError as error:
            assert str(error) == "cnpx: expected a str as the message, got int"
        else:
            raise SystemExit("a message that is no text was taken")
    """
    plain.run(code, env={"MUSASIM_FACE": "mlu"})
