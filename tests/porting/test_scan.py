"""Whole trees: local includes, what changed since, hostile trees, the command line, the reports."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.interpreter import ROOT
from torchada.cli import main
from torchada.porting import PortingError, Project, Tree, incremental, port_tree, read_project
from torchada.porting import workers as work_module
from torchada.report import pages

pytestmark = pytest.mark.once

PORTER = Path(incremental.__file__).parent
SOURCES = {
    "setup.py": b"print('cuda')\n",
    "pyproject.toml": b'[tool.torchada.porting]\nexclude = ["vendor"]\n[tool.torchada.porting.names]\nSPECIAL = "OTHER"\n',
    "csrc/a.cu": b'#include "b.cuh"\n#include "../include/proj/cuda_utils.h"\n#include <proj/k.cuh>\n'
    b"#include <cub/cub.cuh>\ncudaFree(SPECIAL);\n",
    "csrc/b.cuh": b'#include "cuda.h"\r\n#define K "k.cuh"\r\n#include K\r\nasm("bar.sync 1, 64;");',
    "include/proj/cuda_utils.h": b"cudaError_t e; // \xe9\n",
    "include/proj/k.cuh": b"",
    "vendor/v.cu": b"cudaFree();",
    "data.bin": b"\0\1",
}


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name[0] != "."
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "project", SOURCES)


def fresh(tree: Tree) -> list[str]:
    return sorted(file.path for file in tree.files if file.is_new)


def test_a_project_that_only_names_torchada_needs_no_parser_of_toml(tmp_path: Path) -> None:
    """Python 3.10 has none."""
    file = tmp_path / "pyproject.toml"
    file.write_text('[build-system\nrequires = ["torchada"]\n')  # which would not be parsed
    assert read_project(tmp_path) == Project()
    file.write_text(file.read_text() + "[tool.torchada.porting]\n")
    with pytest.raises(PortingError, match=r"pyproject\.toml"):
        read_project(tmp_path)


def test_a_tree_is_ported_into_a_folder_of_its_own(project: Path, tmp_path: Path) -> None:
    tree = port_tree(project, tmp_path / "out")
    assert contents(project) == SOURCES
    assert contents(tmp_path / "out") == {
        "setup.py": SOURCES["setup.py"],
        "pyproject.toml": SOURCES["pyproject.toml"],
        "data.bin": SOURCES["data.bin"],
        "vendor/v.cu": SOURCES["vendor/v.cu"],
        "csrc/a.mu": b'#include "b.muh"\n#include "../include/proj/cuda_utils.h"\n#include <proj/k.muh>\n'
        b"#include <cub/cub.cuh>\nmusaFree(OTHER);\n",
        "csrc/b.muh": b'#include "musa.h"\r\n#define K "k.muh"\r\n#include K\r\nasm("bar.sync 1, 64;");',
        "include/proj/cuda_utils.h": b"musaError_t e; // \xe9\n",
        "include/proj/k.muh": b"",
    }
    assert [(file.path, finding.name, finding.line) for file, finding in tree.unported] == [
        ("csrc/b.cuh", "bar.sync", 4)
    ]
    again = port_tree(tmp_path / "out", tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "out") and not any(
        file.replacements for file in again.files
    )


def test_only_what_changed_is_ported_again(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = port_tree(project, out)
    assert fresh(first) == sorted(SOURCES)
    before = (out / "csrc/a.mu").stat()
    second = port_tree(project, out)
    assert fresh(second) == []
    assert [each[1] for each in second.findings] == [each[1] for each in first.findings]
    assert (out / "csrc/a.mu").stat().st_ino == before.st_ino, "nothing was written at all"
    (project / "csrc/b.cuh").write_bytes(b"cudaMalloc();\n")
    os.utime(project / "setup.py")  # another time, the same contents
    assert fresh(port_tree(project, out)) == ["csrc/b.cuh"]
    assert (out / "csrc/b.muh").read_bytes() == b"musaMalloc();\n"
    assert (out / "csrc/a.mu").stat().st_mtime_ns == before.st_mtime_ns, "so ninja builds it not again"
    (out / "csrc/a.mu").write_bytes(b"somebody's")
    assert fresh(port_tree(project, out, force=True)) == ["csrc/a.cu"]
    (project / "csrc/b.cuh").unlink()
    port_tree(project, out)
    assert not (out / "csrc/b.muh").exists()
    assert b'"b.cuh"' in (out / "csrc/a.mu").read_bytes(), "which files there are is looked at anew"


def test_another_process_with_macros_of_devices_takes_over_what_one_has_ported(tmp_path: Path) -> None:
    macros = b"".join(b"#define R%d(device) at::k##device\n" % n for n in range(6))
    project = write(tmp_path / "project", {"r.h": macros, "a.cu": b"cudaFree(0);"})
    code = (
        "import sys; from torchada.porting import port_tree\nprint([f.is_new for f in port_tree(*sys.argv[1:]).files])"
    )
    command = [sys.executable, "-c", code, str(project), str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TORCHADA_DISABLE": "1"}
    said = [
        subprocess.check_output(command, env={**environment, "PYTHONHASHSEED": seed}, text=True).strip()
        for seed in "1234"
    ]
    assert said == ["[True, True]", *["[False, False]"] * 3]


def test_every_file_of_the_porter_tells_its_version() -> None:
    """One in a folder of its own, too: what a release before it has ported is not taken over."""
    stamped = {name for name, _ in incremental._our_stamps()}
    assert {str(path.relative_to(PORTER)) for path in PORTER.rglob("*.py")} <= stamped
    assert {"ptx/memory.py", "known_names.txt", "lost_includes.json"} <= stamped


def test_what_is_ported_again_to_the_same_keeps_its_time(project: Path, tmp_path: Path) -> None:
    """A new file, or a new rule, may matter to every file. To most it does not, and a build must not compile those again."""
    out = tmp_path / "out"
    port_tree(project, out)
    before = {name: (out / name).stat().st_mtime_ns for name in contents(out)}
    write(
        project,
        {"csrc/new.cuh": b"#define ARRAY(k) k##device\n", "csrc/a.cu": SOURCES["csrc/a.cu"] + b"cudaMalloc();\n"},
    )
    assert fresh(port_tree(project, out)) == sorted([*SOURCES, "csrc/new.cuh"]), "all are looked at anew"
    after = {name: (out / name).stat().st_mtime_ns for name in before}
    assert [name for name in before if after[name] != before[name]] == ["csrc/a.mu"]
    assert fresh(port_tree(project, out)) == []


def test_an_edited_file_of_the_output_is_not_kept_for_what_it_was(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    port_tree(project, out)
    right = (out / "include/proj/cuda_utils.h").read_bytes()
    (out / "include/proj/cuda_utils.h").write_bytes(right.swapcase())
    write(project, {"new.cu": b""})
    port_tree(project, out, force=True)
    assert (out / "include/proj/cuda_utils.h").read_bytes() == right


def test_a_change_that_keeps_time_and_size_is_seen(project: Path, tmp_path: Path) -> None:
    file = project / "csrc/a.cu"
    stamp = file.stat()
    port_tree(project, tmp_path / "out")
    file.write_bytes(file.read_bytes().replace(b"cudaFree", b"cuMemMap"))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    port_tree(project, tmp_path / "out")
    assert b"muMemMap" in (tmp_path / "out/csrc/a.mu").read_bytes()


def test_several_processes_do_the_same(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_module, "ENOUGH_BYTES", 10)
    one, two = port_tree(project, tmp_path / "one", processes=1), port_tree(project, tmp_path / "two", processes=3)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert one.findings == two.findings
    write(project, {f"n{at}.cu": b"\0" for at in range(4)})
    with pytest.raises(PortingError, match="NUL"):
        port_tree(project, tmp_path / "two", processes=3)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_lines_name_the_originals(project: Path, tmp_path: Path) -> None:
    port_tree(project, tmp_path / "out", lines=True, only_sources=True)
    found = contents(tmp_path / "out")
    assert found["csrc/a.mu"].startswith(f'#line 1 "{project}/csrc/a.cu"\n#include'.encode())
    assert "setup.py" not in found


def loop(root: Path) -> None:
    (root / "csrc/loop").symlink_to(root)


def itself(root: Path) -> None:
    (root / "csrc/self.cu").symlink_to("self.cu")


def dangling(root: Path) -> None:
    (root / "csrc/gone.cu").symlink_to("nowhere.cu")


def outside(root: Path) -> None:
    (root.parent / "other.cu").write_bytes(b"cudaFree();")
    (root / "csrc/other.cu").symlink_to("../../other.cu")


def large(root: Path) -> None:
    with open(root / "large.cu", "wb") as file:
        file.truncate(50_000_000)


def with_nul(root: Path) -> None:
    (root / "csrc/n.cu").write_bytes(b"int a;\ncuda\0Free();")


def pipe(root: Path) -> None:
    os.mkfifo(root / "csrc/pipe.cu")


def cross_links(root: Path) -> None:
    """Thirty folders with two links each to the next: a tree with a thousand million paths."""
    for at in range(30):
        (root / f"d{at}").mkdir()
        for name in ("x", "y"):
            (root / f"d{at}" / name).symlink_to(f"../d{at + 1}", target_is_directory=True)
    (root / "d30").mkdir()


def twice(root: Path) -> None:
    for name in ("a.mu", "a.cu.mu"):
        (root / "csrc" / name).write_bytes(b"musaFree();")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (loop, "csrc/loop: this link leads back"),
        (itself, "csrc/self.cu: this link leads nowhere"),
        (dangling, "csrc/gone.cu: this link leads nowhere"),
        (outside, "csrc/other.cu: this link leads out of the tree"),
        (large, "large.cu: 50,000,000 bytes"),
        (with_nul, "csrc/n.cu: not a text, line 2"),
        (pipe, "csrc/pipe.cu: neither a file nor a folder"),
        (cross_links, "a path through more than 8 links"),
        (twice, "csrc/a.cu.*and csrc/a.cu.* would both"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_hostile_tree_is_an_error_and_leaves_nothing(spoil, words: str, project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    spoil(project)
    listed = sorted(os.listdir(tmp_path))
    with pytest.raises(PortingError, match=words):
        port_tree(project, out)
    assert sorted(os.listdir(tmp_path)) == listed, "no output, whole or in part"


def test_an_error_leaves_the_last_output_alone(project: Path, tmp_path: Path) -> None:
    port_tree(project, tmp_path / "out")
    before = contents(tmp_path / "out")
    with_nul(project)
    with pytest.raises(PortingError):
        port_tree(project, tmp_path / "out")
    assert contents(tmp_path / "out") == before
    assert sorted(os.listdir(tmp_path)) == ["out", "project"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_a_disk_that_is_full_is_an_error_and_leaves_nothing(
    number: int, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it comes from the system in the middle of the work, when files have been written already."""
    write_one, done = work_module.Porter.write, []

    def write_two(self: work_module.Porter, job: work_module.Job) -> work_module.Done:
        if done:
            raise OSError(number, os.strerror(number), job.output)
        done.append(job)
        return write_one(self, job)

    monkeypatch.setattr(work_module.Porter, "write", write_two)
    with pytest.raises(PortingError, match=os.strerror(number)):
        port_tree(project, tmp_path / "out")
    assert done and os.listdir(tmp_path) == ["project"]


def test_an_unreadable_file_is_an_error() -> None:
    """Root reads everything, so root becomes another user: one who may not even read the checkout, so all is loaded before."""
    command = """
import os, sys
from torchada.porting import Project, port_tree
readable, unreadable = sys.argv[1:]
port_tree(readable, readable + "-musa", Project())
if os.getuid() == 0:
    os.setuid(65534)
port_tree(unreadable, unreadable + "-musa", Project())
"""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        readable, unreadable = (write(Path(folder) / name, SOURCES) for name in ("readable", "unreadable"))
        (unreadable / "csrc/b.cuh").chmod(0)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            [sys.executable, "-c", command, str(readable), str(unreadable)],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert "PortingError" in done.stderr and "csrc/b.cuh: Permission denied" in done.stderr
        assert sorted(os.listdir(folder)) == ["readable", "readable-musa", "unreadable"]


def test_folders_that_are_not_ours_are_refused(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "theirs", {"precious": b"1"})
    for out, words in ((tmp_path / "theirs", "was not made by"), (project, "holds what"), (tmp_path, "holds what")):
        with pytest.raises(PortingError, match=words):
            port_tree(project, out)
    assert contents(tmp_path / "theirs") == {"precious": b"1"}
    assert contents(project) == SOURCES


def test_output_within_the_tree_is_no_part_of_it(project: Path) -> None:
    for _ in range(2):
        port_tree(project, project / "build" / "musa")
        assert "build" not in os.listdir(project / "build" / "musa")


def test_links_within_the_tree_are_files(project: Path, tmp_path: Path) -> None:
    (project / "csrc/link.cu").symlink_to("a.cu")
    (project / "linked").symlink_to("include")
    port_tree(project, tmp_path / "out")
    assert (tmp_path / "out/csrc/link.mu").read_bytes() == (tmp_path / "out/csrc/a.mu").read_bytes()
    assert (tmp_path / "out/linked/proj/k.muh").is_file()


def test_rules_are_read_from_either_file(project: Path, tmp_path: Path) -> None:
    assert read_project(project).names == {"SPECIAL": "OTHER"}
    (project / "torchada-port.toml").write_text('reached = 12040\nkeep = ["cudaX"]\n')
    assert read_project(project).reached == 12040
    (project / "torchada-port.toml").write_text("reached = [\n")
    with pytest.raises(PortingError, match=r"torchada-port\.toml"):
        port_tree(project, tmp_path / "out")
    assert os.listdir(tmp_path) == ["project"]


def run(*arguments: object) -> int:
    return main(["port", *map(str, arguments)])


def test_the_command_line(project: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = tmp_path / "out"
    assert run(project, "-o", out, "--report", tmp_path / "r.json") == 0
    assert b"csrc/b.cuh:4" in capfdbinary.readouterr().out
    report = json.loads((tmp_path / "r.json").read_text())
    assert [(each["file"], each["line"], each["name"]) for each in report["findings"]] == [
        ("csrc/b.cuh", 4, "bar.sync")
    ]
    assert report["totals"]["unported"] == 1 and report["output"] == str(out)
    assert run(project, "--check") == 1
    assert run(project / "include", "--check") == 0
    capfdbinary.readouterr()
    assert run(project, "--diff") == 0
    diff = capfdbinary.readouterr().out
    assert b"-cudaError_t e; // \xe9\n+musaError_t e; // \xe9\n" in diff
    if shutil.which("patch"):
        write(tmp_path / "patched", SOURCES)
        done = subprocess.run(
            ["patch", "-p1", "--binary", "-d", tmp_path / "patched", "-i", "-"], input=diff, capture_output=True
        )
        assert done.returncode == 0, done.stdout
    assert run(project / "nowhere", "-o", out) == 2
    assert b"nowhere: no such file or folder" in capfdbinary.readouterr().err
    assert run(project / "csrc/a.cu", project / "include", "-o", tmp_path / "two") == 0
    assert sorted(contents(tmp_path / "two")) == ["a.mu", "include/proj/cuda_utils.h", "include/proj/k.muh"]


def test_port_writes_every_report_that_is_named(project: Path, tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("a.html", "b.json", "c.json")]
    assert run(project, *(word for name in names for word in ("--report", name))) == 0
    page, *documents = (name.read_text() for name in names)
    found = [json.loads(text) for text in (pages.data_of(page), *documents)]
    for document in found:
        document.pop("created")  # they are written one after the other
    assert found[0] == found[1] == found[2] and found[0]["files"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "-1"], "--jobs: expected a whole number from 1 on, got '-1'"),
        (["--jobs", "0"], "--jobs: expected a whole number from 1 on, got '0'"),
        (["--jobs", "two"], "--jobs: expected a whole number from 1 on, got 'two'"),
        (["--report", "r.pdf"], "--report r.pdf: expected a name that ends in .json or .html"),
        (
            ["--report", "good.json", "--report", "nowhere/r.json"],
            "--report nowhere/r.json: there is no folder nowhere",
        ),
        (["--report", "folder.json"], "--report folder.json: this is a folder"),
    ],
)
def test_port_names_a_wrong_argument_and_writes_nothing(
    project: Path,
    tmp_path: Path,
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "here" / "folder.json").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(SystemExit) as ended:
        run(project, "-o", "out", *arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert said in error and error.startswith("usage: torchada port")
    assert os.listdir() == ["folder.json"]


def test_port_names_a_report_that_the_file_system_refuses(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{'x' * 300}.json"
    assert run(project, "--report", name) == 2
    assert capsys.readouterr().err == f"torchada port: --report {name}: File name too long\n"


def test_port_reports_and_diffs_a_file_whose_name_is_no_text(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "p").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/p/\xff.cu")).write_bytes(b'asm("bar.sync 1, 64;"); cudaFree();')
    reports = [tmp_path / "r.json", tmp_path / "r.html"]
    assert run(tmp_path / "p", "--diff", *(word for name in reports for word in ("--report", name))) == 0
    assert b'--- "a/\\377.cu"\n+++ "b/\\377.mu"\n' in capfdbinary.readouterr().out
    assert json.loads(reports[0].read_text())["findings"][0]["file"] == "\udcff.cu"
    assert sorted(os.listdir(tmp_path)) == ["p", "r.html", "r.json"]


def test_port_counts_one_source_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "p", {"a.cu": b"cudaFree();\n"})
    assert run(tmp_path / "p") == 0
    assert capsys.readouterr().out == "1 source, 1 name translated\n"
    write(tmp_path / "p", {"b.cu": b'cudaFree();\ncudaFree();\nasm("bar.sync 1, 64;");\n'})
    assert run(tmp_path / "p") == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "2 sources, 3 names translated",
        "1 place unported: left as it was, for MUSA has no counterpart",
    ]


def test_quiet_port_prints_nothing_and_verbose_port_every_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "p", {"a.cu": "".join(f'asm("bar.sync.x{number} 0;");\n' for number in range(30)).encode()})
    run(tmp_path / "p")
    assert "  and 10 more names, which -v lists" in capsys.readouterr().out.splitlines()
    run(tmp_path / "p", "-v")
    assert [line.split(":")[0].strip() for line in capsys.readouterr().out.splitlines()[2:]] == [
        f"bar.sync.x{number}" for number in range(30)
    ]
    assert run(tmp_path / "p", "-q", "--check") == 1
    assert capsys.readouterr() == ("", "")


def test_the_page_escapes_what_sources_say(tmp_path: Path) -> None:
    write(
        tmp_path / "p", {"<b>.cu": b'asm("bar.sync 1, 64; </script><script>alert(1)");\nint e = __CUDA_ARCH__ + 1;\n'}
    )
    assert run(tmp_path / "p", "--report", tmp_path / "r.html") == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2 and "<b>.cu" not in page and "&lt;b&gt;.cu" in page
    assert "bar.sync" in page and "__MUSA_ARCH__ counts otherwise" in page


def test_porting_imports_no_torch(tmp_path: Path) -> None:
    code = "import sys, torchada.porting; print(sorted({'torch', 'wrapt', 'numpy'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_header_beside_one_of_its_name_for_musa_gets_a_name_of_its_own(tmp_path: Path) -> None:
    """mmcv has helper_kernel.cuh beside helper_kernel.muh."""
    sources = {"csrc/h.cuh": b"cudaFree();", "csrc/h.muh": b"musaFree();", "k.cu": b"", "k.mu": b"// ours"}
    sources["csrc/a.cu"] = (
        b'#include "h.cuh"\n#include "../csrc/h.cuh"\n#include <csrc/h.cuh>\n#include "h.muh"\n#include "../k.cu"\n'
    )
    tree = port_tree(write(tmp_path / "p", sources), tmp_path / "out")
    targets = {file.path: file.target for file in tree.files}
    assert (
        targets["csrc/h.cuh"] == "csrc/h.cuh.muh"
        and targets["k.cu"] == "k.cu.mu"
        and targets["csrc/h.muh"] == "csrc/h.muh"
    )
    assert (
        (tmp_path / "out/csrc/h.cuh.muh").read_bytes() == b"musaFree();" == (tmp_path / "out/csrc/h.muh").read_bytes()
    )
    assert (tmp_path / "out/csrc/a.mu").read_bytes() == (
        b'#include "h.cuh.muh"\n#include "../csrc/h.cuh.muh"\n#include <csrc/h.cuh.muh>\n#include "h.muh"\n#include "../k.cu.mu"\n'
    )
    excluded = port_tree(tmp_path / "p", tmp_path / "other", Project(exclude=("*.cuh",)))
    assert {file.target for file in excluded.files} >= {"csrc/h.cuh", "csrc/h.muh"}
