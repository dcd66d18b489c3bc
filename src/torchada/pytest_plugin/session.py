"""The plug-in of a run on simulated GPUs: listens to the checkers, and gathers what this process and workers have run."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from torchada.pytest_plugin import checker, record, sarif, section
from torchada.pytest_plugin.finding import Finding
from torchada.pytest_plugin.request import Request

_OUTPUT = "torchada"  # the key under which a worker of pytest-xdist hands its record on


class Session:
    """`record` is of this process; the controller of pytest-xdist adds those of its workers."""

    def __init__(self, config: pytest.Config, request: Request) -> None:
        self._config, self._request = config, request
        self._findings: list[tuple[str, str]] = []
        self._workers: list[record.Record] = []
        self._lost = 0
        self._unwritten = ""

    def pytest_report_header(self) -> str:
        """Say what the tests run on."""
        return section.header(self._request)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Fixtures launch kernels, too."""
        return (yield from self._checked(item))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """The test itself."""
        return (yield from self._checked(item))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """A kernel may run on until somebody waits for it."""
        return (yield from self._checked(item))

    def _checked(self, item: pytest.Item) -> Generator[None, Any, Any]:
        if not self._request.is_checked:
            return (yield)
        said: list[str] = []
        try:
            with checker.heard() as said:
                result = yield
        finally:
            self._findings += [(item.nodeid, finding) for finding in said]
        if said:
            shown = [Finding.of(text).shown(str(self._config.rootpath)) for text in said]
            pytest.fail("\n".join(["the checker has found:", *shown]), pytrace=False)
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker hands its record on; whoever has no controller writes the file that was asked for."""
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = self._own().plain()
        elif self._request.sarif:
            self._write_findings(session)

    def _write_findings(self, session: pytest.Session) -> None:
        """A run whose file cannot be written has failed, but its results are shown."""
        findings = record.total([self._own(), *self._workers]).findings
        text = sarif.as_sarif(findings, str(self._config.rootpath))
        try:
            Path(self._request.sarif).write_text(text, encoding="utf-8")
        except OSError as error:
            self._unwritten = f"--cuda-sarif: {self._request.sarif} could not be written: {error.strerror}"
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def _own(self) -> record.Record:
        return record.of_process(self._findings, self._request.is_checked)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """The controller takes it; a worker that has crashed has none."""
        plain = getattr(node, "workeroutput", {}).get(_OUTPUT)
        if plain is None:
            self._lost += 1
        else:
            self._workers.append(record.Record.of_plain(plain))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The section at the end."""
        whole = record.total([self._own(), *self._workers])
        terminalreporter.section("simulated CUDA")
        skipped = len(terminalreporter.stats.get("skipped", ()))
        for line in section.lines(self._request, whole, self._lost, skipped, self._config.get_verbosity() > 0):
            terminalreporter.line(line)
        if self._unwritten:
            terminalreporter.line(self._unwritten, red=True)
