"""`torchada run --report`: one document of everything that a program's processes used, as JSON and as a page."""

from __future__ import annotations

import errno
import inspect
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter
from support.tiers import rarely
from torchada.report import pages
from torchada.report.answers import OF_CALLS
from torchada.telemetry import page, report

pytestmark = pytest.mark.once

RUN = ["-m", "torchada", "run"]
COMPUTED: dict[str, dict[str, int]] = {"on_device": {}, "kernels": {}, "mended": {}, "cpu_fallbacks": {}}
VOID = {"meta", "input", "link", "br", "img"}


def process(pid: int = 1) -> dict[str, Any]:
    names = ("host", "python", "torch", "torchada", "adapter", "folder")
    numbers: dict[str, Any] = {"pid": pid, "parent": 0, "started": 1.0, "ended": 2.0, "simulated": True}
    return {**dict.fromkeys(names, "x"), **numbers, "backend": "musa", "command": ["train.py"], **COMPUTED}


def use(**fields: Any) -> dict[str, Any]:
    default = {"api": "torch.cuda.synchronize", "kind": "same", "to": "torch.musa.synchronize", "count": 2}
    place = {
        "file": "/x/train.py",
        "line": 3,
        "function": "main",
        "package": "__main__",
        "through": "",
        "source": "go()",
    }
    return {**default, **place, **fields}


def document(*uses: dict[str, Any]) -> dict[str, Any]:
    made = report.empty(["train.py"], "/x")
    report.add(made, process(), uses)
    return made


# ---------------------------------------------------------------- the document


def test_parts_of_processes_add_up() -> None:
    made = document(use(), use(line=4, count=5))
    report.add(made, process(2), [use(), use(kind="unsupported", api="torch.cuda.x", to="", package="library")])
    report.add(made, process(), [use(count=1)])
    assert [(u["line"], u["count"], u["processes"]) for u in made["uses"][:2]] == [(3, 5, [0, 1]), (4, 5, [0])]
    assert [p["pid"] for p in made["processes"]] == [1, 2]
    assert made["totals"] == {
        "calls": 12,
        "apis": 2,
        "sites": 2,
        "packages": 2,
        "kinds": {"same": 10, "unsupported": 2},
    }


@pytest.mark.parametrize("name", ["out.json", "out.html"])
def test_a_stored_report_is_loaded_unchanged(tmp_path: Path, name: str) -> None:
    made = document(use(source="</script><b>&amp;\N{SNOWMAN}\udcff"))
    report.store([str(tmp_path / name)], made)
    assert report.load(str(tmp_path / name)) == made
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("text", ["", "{}", "[]", "<html>", '{"schema": "torchada-run", "version": 99}'])
@pytest.mark.parametrize("name", ["out.json", "out.html", "out.md"])
def test_a_file_that_is_no_report_is_begun_anew(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    report.merge([str(tmp_path / name)], process(), [use()])
    assert report.load(str(tmp_path / name))["totals"]["calls"] == 2


def test_on_a_full_disk_the_report_stays_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report.store([str(tmp_path / "run.json")], report.empty(["before"]))
    write = Path.write_bytes

    def write_a_part(path: Path, data: bytes) -> int:
        write(path, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", write_a_part)
    with pytest.raises(OSError, match="No space left"):
        report.store([str(tmp_path / "run.json")], report.empty(["after"]))
    assert os.listdir(tmp_path) == ["run.json"]
    assert report.load(str(tmp_path / "run.json"))["program"] == ["before"]


def test_processes_take_turns(tmp_path: Path) -> None:
    path = str(tmp_path / "out.html")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pid: report.merge([path], process(pid), [use(count=1)]), range(24)))
    assert report.load(path)["uses"][0]["count"] == 24


# ---------------------------------------------------------------- the page


class Page(HTMLParser):
    """Elements by nesting, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text.append(data)

    def with_class(self, name: str) -> list[dict[str, str | None]]:
        return [found for _, found in self.attributes if name in (found.get("class") or "").split()]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&lt;"


def test_the_page_escapes_everything_from_programs() -> None:
    fields = dict.fromkeys(("api", "to", "file", "function", "package", "through", "source"), HOSTILE)
    made = report.empty([HOSTILE], "/x")
    report.add(made, {**process(), "host": HOSTILE, "command": [HOSTILE], "adapter": HOSTILE}, [use(**fields)])
    report.add(made, process(2), [use(**fields, kind="unsupported"), use(**fields, kind=HOSTILE)])
    text = page.page(made)
    found = Page(text)
    assert sum(tag == "script" for tag, _ in found.attributes) == 2 and "img" not in [
        tag for tag, _ in found.attributes
    ]
    assert not [names for _, names in found.attributes if any(name.startswith("on") for name in names)]
    assert found.words.count("alert(1)") >= 8, "and yet it is shown"
    assert json.loads(pages.data_of(text)) == made


def test_the_page_refers_to_no_other_file() -> None:
    found = Page(page.page(document(use())))
    assert not [names for _, names in found.attributes if {"src", "href"} & names.keys()]
    policy = next(names for _, names in found.attributes if names.get("http-equiv"))
    assert str(policy["content"]).startswith("default-src 'none'")


def test_the_page_shows_calls_by_kind() -> None:
    text = page.page(
        document(
            use(count=1500),
            use(api="torch.cuda.jiterator", kind="unsupported", to="", package="library", source="jit = broken(1)"),
            use(api="torch.cuda.graph", kind="emulated", to="torchada", through="torch.nn.Module.cuda"),
        )
    )
    shown = Page(text)
    opened = [names["data-kind"] for names in shown.with_class("api") if "open" in names]
    assert opened == ["unsupported", "emulated"], "what needs attention comes first, with its lines"
    assert [names["data-kind"] for names in shown.with_class("api")] == [*opened, "same", "emulated", "unsupported"]
    words = shown.words
    assert words.index("What needs attention") < words.index("torch.cuda.jiterator") < words.index("torch.cuda.graph")
    assert "1,504 calls, 3 APIs, 1 line, 2 packages, 1 process" in words and "same, 99.7 %" in words
    assert "jit = broken(1)" in words and "in main, the script, through torch.nn.Module.cuda" in words
    switches = {kind: [names for names in shown.with_class(kind) if "data-switch" in names] for kind in OF_CALLS}
    assert {kind for kind in OF_CALLS if switches[kind]} == {"same", "unsupported", "emulated"}
    assert [names["data-query"] for names in shown.with_class("who")] == ["the script", "library"]
    titles = [names["title"] for tag, names in shown.attributes if tag == "i" and "title" in names]
    assert titles[-3:] == ["emulated: 2", "same: 1,500", "unsupported: 2"], "the bars of packages, divided by kinds"
    files = [names["title"] for tag, names in shown.attributes if tag == "code" and "title" in names]
    assert files == ["/x/train.py"] * 5


def test_the_page_adds_up_how_processes_computed() -> None:
    made = document(use())
    for number, counts in ((2, {"aten::clamp": 2}), (3, {"aten::clamp": 1, "aten::histc": 5000})):
        report.add(made, {**process(number), "cpu_fallbacks": counts}, [use()])
    words = Page(page.page(made)).words
    assert "operators on the device 0 0" in words
    assert "copies there and back 2 5,003 aten::histc 5,000, aten::clamp 3" in words
    assert "copies there and back name runs aten::histc 5,000 aten::clamp 3" in words
    assert "rounding and the order of sums are those of the CPU's kernels" in words


def test_the_page_of_hardware_says_that_the_device_does_not_count() -> None:
    made = report.empty(["train.py"], "/x")
    report.add(made, {**process(), "simulated": False, "on_device": None, "kernels": None}, [use()])
    words = Page(page.page(made)).words
    assert "operators on the device - - not counted on hardware" in words and "not simulated" not in words


def test_the_page_says_that_nothing_was_recorded() -> None:
    words = Page(page.page(report.empty(["train.py"]))).words
    assert "Nothing was recorded" in words and "Nothing that was called is unsupported" not in words


# ---------------------------------------------------------------- run --report


def run(musa: Interpreter, *arguments: str, code: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    assert musa.cwd is not None
    (musa.cwd / "train.py").write_text(code)
    return musa.run([*RUN, *arguments, "train.py"], **options)


def calls_of(found: dict[str, Any]) -> dict[str, int]:
    total: dict[str, int] = {}
    for entry in found["uses"]:
        total[entry["api"]] = total.get(entry["api"], 0) + entry["count"]
    return total


def loaded(musa: Interpreter, name: str = "out.json") -> dict[str, Any]:
    assert musa.cwd is not None
    found: dict[str, Any] = json.loads((musa.cwd / name).read_text())
    return found


@pytest.mark.musa
def test_run_writes_json_and_page(musa: Interpreter, tmp_path: Path) -> None:
    code = "import os, torch\nos.chdir('/')\nx = torch.ones(2, device='cuda')\n"
    done = run(musa, "--report", "out.json", "--report=out.html", code=code)
    found = loaded(musa)
    assert done.stderr == "" and sorted(file.name for file in tmp_path.iterdir()) == [
        "out.html",
        "out.json",
        "train.py",
    ]
    assert found["schema"] == "torchada-run" and found["version"] == 1 and found["program"] == ["train.py"]
    (entry,) = found["uses"]
    assert entry["source"] == "x = torch.ones(2, device='cuda')" and entry["file"] == str(tmp_path / "train.py")
    assert found == json.loads(pages.data_of((tmp_path / "out.html").read_text()))
    run(musa, "--report", "out.json", code=code)
    assert loaded(musa)["totals"]["calls"] == 1, "an earlier report is not added to"


#: A release that has no kernel of logcumsumexp.
OLD = {"MUSASIM_RELEASE": "2.7.1"}


@pytest.mark.musa
def test_what_was_computed_on_the_cpu_is_in_the_report_of_each_process(musa: Interpreter) -> None:
    code = """
    import os, torch
    x = torch.ones(2, device="cuda")
    torch.logcumsumexp(x, 0)
    if os.fork() == 0:
        torch.device("cuda")
        os._exit(0)
    os.wait()
    torch.logcumsumexp(x, 0)
    """
    run(musa, "--report", "out.json", code=inspect.cleandoc(code), env={**OLD, "TORCHADA_CPU_FALLBACK": "silent"})
    counts = {found["parent"]: found["cpu_fallbacks"] for found in loaded(musa)["processes"]}
    assert sorted(counts.values(), key=len) == [{}, {"aten::_logcumsumexp": 2}], "a child has none of its parent's"
    on_device = sorted((found["on_device"] for found in loaded(musa)["processes"]), key=len)
    assert on_device[0] == {} and on_device[1]["aten::fill_"] == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("out.txt", "ends in .json or .html or .md"),
        ("nowhere/out.json", "--report nowhere/out.json: there is no folder nowhere"),
        (".json/", "ends in .json"),
        ("a:b.json", "without ':'"),
        (f"{'x' * 300}.json", "File name too long"),
    ],
)
def test_run_names_a_report_that_cannot_be_written(musa: Interpreter, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "old.json").write_text("kept where the command line is wrong")
    done = run(musa, "--report", "old.json", "--report", name, code="print('ran')", check=False)
    if "File name" not in said:
        assert (tmp_path / "old.json").read_text().startswith("kept")
    assert sorted(os.listdir(tmp_path)) == ["old.json", "train.py"]
    assert done.returncode == 2 and said in done.stderr and "ran" not in done.stdout


def test_the_report_of_a_program_without_torch_is_empty(musa: Interpreter) -> None:
    run(musa, "--report", "out.json", code="print(1)")
    assert loaded(musa)["totals"]["calls"] == 0


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.parametrize(
    "ending", ["raise SystemExit(3)", "1 / 0", "os._exit(3)", "os.execv(sys.executable, [sys.executable, '-c', ''])"]
)
def test_a_process_is_reported_however_it_ends(musa: Interpreter, ending: str) -> None:
    run(musa, "--report", "out.json", code=f"import os, sys, torch\ntorch.cuda.device_count()\n{ending}\n", check=False)
    assert calls_of(loaded(musa)) == {"torch.cuda.device_count": 1}


START = (
    "p = torch.multiprocessing.get_context('{}').Process(target=work)\np.start(); p.join(); assert p.exitcode == 0\n"
)
CHILDREN = {
    "fork": "pid = os.fork()\nif pid == 0:\n    work()\n    os._exit(0)\nos.waitpid(pid, 0)\n",
    "multiprocessing": START.format("fork"),
    "spawn": START.format("spawn"),
    "forkserver": START.format("forkserver"),
    "subprocess": "subprocess.run([sys.executable, '-c', 'import torch; torch.cuda.device_count()'], check=True)\n",
}


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.parametrize("way", rarely(CHILDREN, "multiprocessing", "forkserver"))
def test_child_processes_are_reported_once(musa: Interpreter, way: str) -> None:
    """The child's part is there, and what it inherited from its parent is not counted twice."""
    body = "".join(f"    {line}\n" for line in ("torch.cuda.manual_seed_all(0)", *CHILDREN[way].splitlines()))
    code = "import os, subprocess, sys, torch\ndef work():\n    torch.cuda.device_count()\nif __name__ == '__main__':\n"
    run(musa, "--report", "out.json", code=code + body)
    found = loaded(musa)
    assert calls_of(found) == {"torch.cuda.manual_seed_all": 1, "torch.cuda.device_count": 1}
    assert len(found["processes"]) == 2 and {entry["package"] for entry in found["uses"]} == {"__main__"}


LOADER = """
import torch
class Numbers(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, index):
        torch.cuda.device_count()
        return index
if __name__ == "__main__":
    list(torch.utils.data.DataLoader(Numbers(), num_workers=2))
"""


@pytest.mark.musa
def test_workers_of_a_loader_are_reported(musa: Interpreter) -> None:
    run(musa, "--report", "out.json", code=LOADER)
    found = loaded(musa)
    assert calls_of(found)["torch.cuda.device_count"] == 8
    assert len({index for entry in found["uses"] for index in entry["processes"]}) >= 2


@pytest.mark.full
@pytest.mark.musa
def test_ranks_of_torchrun_are_reported(musa: Interpreter) -> None:
    code = "import os, torch\nfor _ in range(int(os.environ['RANK']) + 1): torch.cuda.device_count()\n"
    assert musa.cwd is not None
    (musa.cwd / "train.py").write_text(code)
    musa.run([*RUN, "--report", "out.json", "-m", "torch.distributed.run", "--nproc-per-node=2", "train.py"])
    found = [entry for entry in loaded(musa)["uses"] if entry["package"] == "__main__"]
    assert [(entry["count"], len(entry["processes"])) for entry in found] == [(3, 2)]


@pytest.mark.musa
def test_command_lines_are_kept_without_secrets(musa: Interpreter, tmp_path: Path) -> None:
    file, program = tmp_path / "out.json", tmp_path / "program.py"
    program.write_text("import torch; torch.zeros(1, device='cuda')")
    given = [str(program), "--token=SECRET", "https://user:SECRET@host/", "--epochs=3"]
    musa.run(["-m", "torchada", "run", "--report", str(file), "--report", str(file.with_suffix(".html")), *given])
    report = json.loads(file.read_text())
    assert (
        report["program"][1:]
        == report["processes"][0]["command"][1:]
        == ["--token=***", "https://***@host/", "--epochs=3"]
    )
    assert "SECRET" not in file.read_text() + file.with_suffix(".html").read_text()
