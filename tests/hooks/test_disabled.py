"""torchada.disabled(): blocks that overlap, what it decorates, and what was off before."""

from __future__ import annotations

from textwrap import dedent

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.once, pytest.mark.musa]

BEGIN = """
import asyncio, threading, torch, torchada
def on(): return torchada.is_patched()
"""
PROGRAMS = {
    "blocks that overlap in threads": """
        first, second = torchada.disabled(), torchada.disabled()
        inside, ended, seen = threading.Event(), threading.Event(), []
        def other():
            with first:
                inside.set()
                ended.wait()
                seen.append(on())
            seen.append(on())
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait()
        with second:
            assert not on()
        assert not on()
        ended.set()
        thread.join()
        assert seen == [False, True] and on()
    """,
    "blocks in blocks": """
        with torchada.disabled():
            with torchada.disabled():
                assert not on()
            assert not on()
        assert on()
    """,
    "a block that raises": """
        try:
            with torchada.disabled():
                raise KeyError
        except KeyError:
            pass
        assert on()
    """,
    "a function": """
        @torchada.disabled()
        def function(value, *, name):
            "What it says."
            return on(), value, name
        assert function(1, name=2) == (False, 1, 2) and function.__name__ == "function" and function.__doc__ and on()
    """,
    "a generator": """
        @torchada.disabled()
        def generator(limit):
            received = []
            for number in range(limit):
                received.append((yield on(), number))
            return received
        steps = generator(2)
        assert on() and next(steps) == (False, 0) and steps.send("a") == (False, 1)
        try:
            steps.send("b")
        except StopIteration as end:
            assert end.value == ["a", "b"]
        assert on()
        steps = generator(2)
        next(steps)
        steps.close()
        assert on()
    """,
    "a coroutine": """
        @torchada.disabled()
        async def coroutine():
            await asyncio.sleep(0)
            return on()
        assert asyncio.run(coroutine()) is False and on()
    """,
    "an asynchronous generator": """
        try:
            @torchada.disabled()
            async def steps(): yield
        except TypeError as error:
            assert "asynchronous generator" in str(error)
        else:
            raise SystemExit("decorated")
    """,
    "what was off before": """
        torchada.disable()
        with torchada.disabled():
            torchada.enable()
            assert on()
        assert not on()
        torchada.enable()
        with torchada.disabled():
            torchada.enable()
        assert on()
    """,
    "handlers that are registered meanwhile": """
        import io
        registry, none = torch.serialization._package_registry, lambda *_: None
        before = len(registry)
        torch.serialization.register_package(5, none, none)
        torch.serialization.register_package(19, lambda storage: "mine", lambda storage, tag: storage if tag == "mine" else None)
        with torchada.disabled():
            assert torch.serialization._package_registry is registry and len(registry) == before + 1
            assert [entry[0] for entry in registry].count(5) == 1
            torch.serialization.register_package(6, none, none)
        assert torch.serialization._package_registry is registry and len(registry) == before + 3
        file = io.BytesIO()
        torch.save(torch.ones(2, device="cuda"), file)
        assert b"mine" in file.getvalue() and torch.load(io.BytesIO(file.getvalue())).device.type == "cpu", "as on CUDA"
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_disabled(musa: Interpreter, name: str) -> None:
    musa.run(BEGIN + dedent(PROGRAMS[name]), forked=True)
