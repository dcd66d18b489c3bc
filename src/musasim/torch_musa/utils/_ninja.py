"""The text of a ninja file that compiles an extension."""

from __future__ import annotations

from dataclasses import dataclass, field

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
