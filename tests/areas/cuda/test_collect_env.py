"""torch.utils.collect_env shows the GPUs, the driver and torchada, however it is run."""

from __future__ import annotations

import pytest
import torch

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

WAYS = (["-m", "torch.utils.collect_env"], "import torch.utils.collect_env as env; print(env.get_pretty_env_info())")


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS, ids=["module", "code"])
def test_a_bug_report_shows_the_device_and_torchada(musa: Interpreter, way: str | list[str]) -> None:
    said = musa.run(way).stdout
    assert f"PyTorch version: {torch.__version__}" in said
    assert "Is CUDA available: True" in said
    for index in range(torch.cuda.device_count()):
        assert f"GPU {index}: {torch.cuda.get_device_name(index)}" in said
    assert "Nvidia driver version: MUSA driver " in said and "CUDA runtime version: MUSA runtime " in said
    assert "redirects CUDA to musa" in said and "torch_musa: " in said


def test_torchs_own_text_is_back_after_disable(musa: Interpreter) -> None:
    code = """
        import torch, torchada
        torchada.disable()
        import torch.utils.collect_env as env
        said = env.get_pretty_env_info()
        assert "MUSA" not in said and "redirects" not in said
        assert type(env.__spec__.loader).__name__ == "SourceFileLoader"
    """
    musa.run(code, forked=True)


def test_without_redirection_it_is_torchs_own(musa: Interpreter) -> None:
    said = musa.run(["-m", "torch.utils.collect_env"], env={"TORCHADA_DISABLE": "1"}).stdout
    assert "Is CUDA available: False" in said and "MUSA" not in said
