"""Records: classes of named values that are given once, when a record is made.

They are what frozen data classes are, and type checkers know them as such. But making a data class compiles functions of its own,
which takes 0.8 ms for each of the classes here, and `import torch` would wait for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**options):
        return lambda cls: cls


class _DataclassFields:
    """`__dataclass_fields__`, made when it is asked for: dataclasses.replace, fields and asdict take a record too."""

    def __get__(self, record: object, cls: type[Record]) -> dict[str, Any]:
        from dataclasses import field, make_dataclass

        def described(name: str) -> Any:
            return field(default_factory=lambda: cls._defaults[name]) if name in cls._defaults else field()

        twin = make_dataclass(cls.__name__, [(name, Any, described(name)) for name in cls._names])
        fields: dict[str, Any] = twin.__dataclass_fields__  # type: ignore[attr-defined]
        return fields


@dataclass_transform(frozen_default=True, eq_default=False)
class Record:
    """The annotations of a subclass are the names of its values, in order. Those with a default may be left out.

    Two records are the same where they are one object. Raises TypeError for values that are missing or not known.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, Any]] = {}
    __dataclass_fields__: ClassVar[Any] = _DataclassFields()

    def __init_subclass__(cls) -> None:
        own = tuple(cls.__annotations__)
        cls._names = cls.__match_args__ = (*cls._names, *own)  # type: ignore[misc]
        cls._defaults = {**cls._defaults, **{name: vars(cls)[name] for name in own if name in vars(cls)}}

    def __init__(self, *values: Any, **named: Any) -> None:
        given = {**dict(zip(self._names, values)), **named}
        if len(given) < len(values) + len(named) or given.keys() - set(self._names):
            self._refuse(values, named)
        missing = [name for name in self._names if name not in given and name not in self._defaults]
        if missing:
            raise TypeError(f"{type(self).__name__} needs a value for {', '.join(missing)}")
        vars(self).update({name: given[name] if name in given else self._defaults[name] for name in self._names})

    def _refuse(self, values: tuple[Any, ...], named: dict[str, Any]) -> NoReturn:
        cls, names = type(self).__name__, self._names
        if len(values) > len(names):
            raise TypeError(f"{cls} takes {len(names)} values ({', '.join(names)}), not {len(values)}")
        unknown = [name for name in named if name not in names]
        if unknown:
            raise TypeError(f"{cls} has no {', '.join(unknown)}; expected some of {', '.join(names)}")
        twice = [name for name in names[: len(values)] if name in named]
        raise TypeError(f"{cls} was given two values for {', '.join(twice)}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{name} of a {type(self).__name__} cannot be set; dataclasses.replace makes a changed copy"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} of a {type(self).__name__} cannot be deleted")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
        return f"{type(self).__qualname__}({values})"
