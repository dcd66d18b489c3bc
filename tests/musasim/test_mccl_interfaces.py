"""MCCL_SOCKET_IFNAME: through which network interface the simulator's groups connect."""

from __future__ import annotations

import pytest
import torch.distributed as dist

pytestmark = pytest.mark.once

ALL = ["lo", "eth0", "eth10", "docker0"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("eth", "eth0"), ("=eth10", "eth10"), ("^lo,docker", "eth0"), ("^=eth0,lo", "eth10"), ("ib,docker", "docker0")],
)
def test_the_variable_is_read_as_nccl_reads_its_own(asked: str, expected: str) -> None:
    from torch_musa.core._interfaces import chosen

    assert chosen(asked, ALL) == expected


def test_an_interface_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_musa._MUSAC import ProcessGroupMCCL

    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setenv("MCCL_SOCKET_IFNAME", "nowhere")
    with pytest.raises(RuntimeError, match=r"MCCL_SOCKET_IFNAME='nowhere' allows no network interface .*: .*lo"):
        ProcessGroupMCCL(dist.HashStore(), 0, 1)


def test_gloos_own_variable_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from torch_musa.core._interfaces import on_the_interface_asked_for

    monkeypatch.setenv("MCCL_SOCKET_IFNAME", "lo")
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    with on_the_interface_asked_for():
        assert os.environ["GLOO_SOCKET_IFNAME"] == "lo"
    assert "GLOO_SOCKET_IFNAME" not in os.environ
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth7")
    with on_the_interface_asked_for():
        assert os.environ["GLOO_SOCKET_IFNAME"] == "eth7"
