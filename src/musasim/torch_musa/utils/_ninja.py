"""The ninja file that compiles an extension, and the run of ninja."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch.utils.cpp_extension import _run_ninja_build, verify_ninja_availability

from ._flags import _is_musa_file
from ._paths import _get_mcc_compiler, get_cxx_compiler

if TYPE_CHECKING:
    from collections.abc import Sequence

DEVICE_LINK_OBJECT = "dlink.o"


@dataclass
class Plan:
    """Compilers, flags in the shell's syntax, and files to build. Without a target, only the objects are built."""

    cxx: str
    mcc: str | None
    cflags: list[str]
    musa_cflags: list[str]
    force_mcc: bool = False
    device_link: list[str] | None = None
    ldflags: list[str] | None = None
    target: str | None = None
    builds: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)

    def add(self, source: str, target: str, musa: bool) -> None:
        rule = "musa_compile" if musa else "force_mcc_compile" if self.force_mcc else "compile"
        self.builds.append(f"build {_path(target)}: {rule} {_path(source)}")
        self.objects.append(_path(target))

    def text(self) -> str:
        """The whole file."""
        return "\n".join(["ninja_required_version = 1.3", f"cxx = {self.cxx}", *self._rules(), *self._builds(), ""])

    def _rules(self) -> list[str]:
        lines = _rule("compile", "$cxx -MMD", self.cflags)
        if self.mcc is not None:
            lines = [f"mcc = {self.mcc}", *lines, *_rule("musa_compile", "$mcc -MD", self.musa_cflags)]
            lines += _rule("force_mcc_compile", "$mcc -MD -x musa", self.cflags) if self.force_mcc else []
        if self.device_link:
            lines += ["rule musa_devlink", f"  command = $mcc $in -o $out {_flags(self.device_link)}"]
        if self.target:
            lines += ["rule link", f"  command = $cxx $in {_flags(self.ldflags or [])} -o $out"]
        return lines

    def _builds(self) -> list[str]:
        lines = list(self.builds)
        objects = list(self.objects)
        if self.device_link:
            lines.append(f"build {DEVICE_LINK_OBJECT}: musa_devlink {' '.join(objects)}")
            objects.append(DEVICE_LINK_OBJECT)
        if self.target:
            lines += [f"build {_path(self.target)}: link {' '.join(objects)}", f"default {_path(self.target)}"]
        return lines


def _rule(name: str, compiler: str, flags: list[str]) -> list[str]:
    return [
        f"rule {name}",
        f"  command = {compiler} -MF $out.d {_flags(flags)} -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
    ]


def _flags(flags: list[str]) -> str:
    return " ".join(flags).replace("$", "$$")


def _path(path: str) -> str:
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def _maybe_write(filename: str, new_content: str) -> None:
    """Write a file unless it already has this content, so that its time changes only with its content."""
    path = Path(filename)
    if not path.exists() or path.read_text(encoding="utf-8") != new_content:
        path.write_text(new_content, encoding="utf-8")


def _write_ninja_file(
    path: str,
    cflags: list[str],
    post_cflags: list[str] | None,
    musa_cflags: list[str] | None,
    musa_post_cflags: list[str] | None,
    musa_dlink_post_cflags: list[str] | None,
    sycl_cflags: Any,
    sycl_post_cflags: Any,
    sycl_dlink_post_cflags: Any,
    sources: Sequence[str],
    objects: Sequence[str],
    ldflags: list[str] | None,
    library_target: str | None,
    with_musa: bool,
    with_sycl: bool,
    force_mcc: bool,
) -> None:
    _refuse_sycl(sycl_cflags, sycl_post_cflags, sycl_dlink_post_cflags, with_sycl)
    plan = Plan(
        cxx=get_cxx_compiler(),
        mcc=_get_mcc_compiler() if with_musa else None,
        cflags=[*cflags, *(post_cflags or [])],
        musa_cflags=[*(musa_cflags or []), *(musa_post_cflags or [])],
        force_mcc=force_mcc,
        device_link=musa_dlink_post_cflags,
        ldflags=ldflags,
        target=library_target,
    )
    for source, target in zip(sources, objects):
        plan.add(os.path.abspath(source), target, _is_musa_file(source))
    _maybe_write(path, plan.text())


def _write_ninja_file_and_compile_objects(
    sources: Sequence[str],
    objects: Sequence[str],
    cflags: list[str],
    post_cflags: list[str] | None,
    musa_cflags: list[str] | None,
    musa_post_cflags: list[str] | None,
    musa_dlink_post_cflags: list[str] | None,
    sycl_cflags: Any,
    sycl_post_cflags: Any,
    sycl_dlink_post_cflags: Any,
    build_directory: str,
    verbose: bool,
    with_musa: bool | None,
    with_sycl: Any,
    force_mcc: bool,
) -> None:
    verify_ninja_availability()
    if with_musa is None:
        with_musa = any(map(_is_musa_file, sources))
    os.makedirs(build_directory, exist_ok=True)
    _write_ninja_file(
        path=os.path.join(build_directory, "build.ninja"),
        cflags=cflags,
        post_cflags=post_cflags,
        musa_cflags=musa_cflags,
        musa_post_cflags=musa_post_cflags,
        musa_dlink_post_cflags=musa_dlink_post_cflags,
        sycl_cflags=sycl_cflags,
        sycl_post_cflags=sycl_post_cflags,
        sycl_dlink_post_cflags=sycl_dlink_post_cflags,
        sources=sources,
        objects=objects,
        ldflags=None,
        library_target=None,
        with_musa=with_musa,
        with_sycl=with_sycl,
        force_mcc=force_mcc,
    )
    _run_ninja_build(build_directory, verbose, error_prefix="Error compiling objects for extension")


def _refuse_sycl(*arguments: Any) -> None:
    if any(arguments):
        raise RuntimeError("SYCL extensions are not supported by torch_musa")
