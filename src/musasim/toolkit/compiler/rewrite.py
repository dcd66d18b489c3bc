"""Turns preprocessed MUSA C++ into C++ for the host's compiler, without moving a line.

`kernel<<<a, b>>>(c)` becomes `(musasim::configure(a, b) ? kernel(c) : void())`; the body of a kernel becomes a closure that
libmusart runs once for each thread; `__shared__` becomes `static`, because one block runs at a time, or one on each OS thread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from musasim.toolkit.compiler import device_symbols
from musasim.toolkit.compiler.assembly import foreign
from musasim.toolkit.compiler.conversions import conversions, type_parameters
from musasim.toolkit.compiler.declarations import (
    CALL_LIKE,
    declared_name,
    declared_names,
    defines_member,
    ends_in_operator,
    expression_begin,
    initial_value,
    joined,
    name_position,
    split_text,
    template_begin,
    without_storage,
)
from musasim.toolkit.compiler.host_calls import Body, Problem, check, check_launches
from musasim.toolkit.compiler.lexer import Source, Token, bracketed, closing, is_word_begin, split, until

# Everything else in the text is ordinary C++. The patterns begin with letters, which makes searching fast.
_WORDS = re.compile(
    r"__(?:global|device|host|shared|constant|managed|launch_bounds|grid_constant|cluster_dims|noinline)__(?![\w$])"
)
_LAUNCH = re.compile("<<<")


class RewriteError(Exception):
    """An error in the user's file, with its place."""

    def __init__(self, source: Source, position: int, message: str) -> None:
        name, line = source.place(position)
        super().__init__(f"{name}:{line}: error: {message}")


@dataclass
class _Bounds:
    position: int
    arguments: str


def rewrite(
    text: str,
    architectures: str,
    main_file: str = "<input>",
    checked: bool = False,
    relocatable: bool = False,
    threaded: bool = False,
) -> str:
    """Return the rewritten text, or raise RewriteError.

    `architectures` are those that kernels report, as in "22 31". Files in the folder of `main_file` are the user's.
    `checked` is for code whose accesses to memory are looked at; other files see the variables of `relocatable` code; blocks of
    `threaded` code may run on several OS threads.
    """
    source = Source(text)
    rewriter = _Rewriter(source, architectures, checked, relocatable, threaded)
    result = rewriter.run()
    try:
        check(source, rewriter.device_only, rewriter.device_functions, main_file)
        check_launches(source, rewriter.launched, main_file)
    except Problem as problem:
        raise RewriteError(source, problem.position, str(problem)) from problem
    return result


def device_bodies(text: str) -> list[Body]:
    """Return the bodies of kernels and of functions of the device alone, or raise RewriteError."""
    rewriter = _Rewriter(Source(text), "", False, False)
    rewriter.run()
    return rewriter.device_only


class _Rewriter:
    def __init__(
        self, source: Source, architectures: str, checked: bool, relocatable: bool, threaded: bool = False
    ) -> None:
        self._source = source
        self._architectures = architectures
        self._checked = checked
        self._relocatable = relocatable
        self._storage = "static thread_local " if threaded else "static "
        self._edits: list[tuple[int, int, int, str]] = []
        self._bounds: list[_Bounds] = []
        self._bodies: list[tuple[int, int]] = []  # of device code
        self._count = 0
        self.device_only: list[Body] = []
        self.device_functions: set[str] = set()
        self.launched: dict[str, Token] = {}
        self._kernels: set[str] = set()

    def run(self) -> str:
        source = self._source
        words = [match for match in _WORDS.finditer(source.text) if is_word_begin(source.text, match.start())]
        words += _LAUNCH.finditer(source.text)
        hits = [match for match in sorted(words, key=re.Match.start) if source.is_code(match.start())]
        # Launch bounds first, because kernels look for theirs later.
        for hit in hits:
            if hit.group() == "__launch_bounds__":
                self._launch_bounds(hit.start(), hit.end())
            elif hit.group() == "__cluster_dims__":
                raise RewriteError(source, hit.start(), "thread block clusters are not supported: '__cluster_dims__'")
        handlers = {
            "__global__": self._kernel,
            "__device__": self._device,
            "__constant__": self._variable,
            "__managed__": self._variable,
        }
        for hit in hits:
            word = hit.group()
            if word == "<<<":
                self._launch(hit.start())
            elif word == "__noinline__":
                self._noinline(hit.start(), hit.end())
            elif word not in ("__launch_bounds__", "__shared__"):
                self._replace(hit.start(), hit.end(), "")
                if word in handlers:
                    handlers[word](hit.start(), hit.end())
        for hit in hits:
            if hit.group() == "__shared__":
                self._shared(hit.start(), hit.end())
        self._assembly()
        self._convert()
        self.launched = {name: token for name, token in self.launched.items() if name not in self._kernels}
        return self._apply()

    # --- edits ---------------------------------------------------------------------------------------------------

    def _replace(self, begin: int, end: int, text: str) -> None:
        self._edits.append((begin, end, len(self._edits), text))

    def _insert(self, position: int, text: str) -> None:
        self._replace(position, position, text)

    def _apply(self) -> str:
        pieces: list[str] = []
        at = 0
        for begin, end, _, replacement in sorted(self._edits):
            if begin < at:
                continue  # inside text that has been replaced already
            pieces += [self._source.text[at:begin], replacement]
            # The line breaks of replaced text stay.
            pieces.append("\n" * self._source.text.count("\n", begin, end))
            at = end
        pieces.append(self._source.text[at:])
        return "".join(pieces)

    def _error(self, position: int, message: str) -> RewriteError:
        return RewriteError(self._source, position, message)

    # --- launches ------------------------------------------------------------------------------------------------

    def _launch(self, position: int) -> None:
        source = self._source
        before = list(source.tokens(source.statement_begin(position), position))
        if before and before[-1].text == "operator":
            return  # operator<< <T>, written without a space
        begin = expression_begin(before)
        if begin is None:
            raise self._error(position, "expected expression before '<<<'")
        if before[-1].kind == "name" and not source.in_system_header(position):
            self.launched.setdefault(before[-1].text, before[-1])
        configuration = self._configuration(position)
        close = configuration[-1]
        pieces = split(configuration[:-1])
        if not 2 <= len(pieces) <= 4:
            message = "too few execution configuration arguments" if len(pieces) < 2 else "too many"
            raise self._error(position, f"{message} to kernel function call")
        arguments = bracketed(source, close.end)
        if not arguments or arguments[0].text != "(":
            raise self._error(close.begin, "expected '(' after '>>>'")
        text = source.text[position + 3 : close.begin]
        self._insert(begin, f"(::musasim::configure({joined(text)}) ? ")
        self._replace(position, close.end, "")
        self._insert(arguments[-1].end, " : void())")

    def _configuration(self, position: int) -> list[Token]:
        """Return the tokens after `<<<`, up to and including the `>>>` that a `(` follows."""
        tokens: list[Token] = []
        depth = 0
        for token in self._source.tokens(position + 3):
            tokens.append(token)
            if token.kind != "mark":
                continue
            if token.text in "([{":
                depth += 1
            elif token.text in ")]}":
                depth -= 1
            elif token.text == ">>>" and depth == 0 and self._is_followed_by_bracket(token.end):
                return tokens
            if depth < 0 or token.text == ";":
                break
        raise self._error(position, "expected '>>>'")

    def _is_followed_by_bracket(self, position: int) -> bool:
        following = next(self._source.tokens(position), None)
        return following is not None and following.text == "("

    # --- functions ---------------------------------------------------------------------------------------------------

    def _noinline(self, begin: int, end: int) -> None:
        """Replace the word, except inside __attribute__((...)), where the host's headers use it."""
        source = self._source
        before = list(source.tokens(source.statement_begin(begin), begin))
        if not before or before[-1].text not in ("(", ","):
            self._replace(begin, end, "__attribute__((noinline))")

    def _assembly(self) -> None:
        for statement in foreign(self._source):
            if self._is_in_body(statement.begin):
                self._count += 1
                self._replace(
                    statement.begin, statement.end, statement.emitted(f"musasim_foreign_assembly_{self._count}")
                )
            elif not self._source.in_system_header(statement.begin):
                raise self._error(statement.begin, statement.problem)

    def _is_in_body(self, position: int) -> bool:
        """Return whether this is device code."""
        return any(begin < position < end for begin, end in self._bodies)

    # --- kernels ---------------------------------------------------------------------------------------------------

    def _launch_bounds(self, begin: int, end: int) -> None:
        tokens = bracketed(self._source, end)
        if not tokens:
            raise self._error(begin, "expected '(' after '__launch_bounds__'")
        self._bounds.append(_Bounds(begin, self._source.text[tokens[0].end : tokens[-1].begin]))
        self._replace(begin, tokens[-1].end, "")

    def _kernel(self, begin: int, end: int) -> None:
        signature = self._signature(end)
        if signature is None or not signature[0]:
            raise self._error(begin, "'__global__' attribute only applies to functions")
        head, parameters, body = signature
        name = head[-1] if head[-1].text not in (">", ">>>") else head[template_begin(head) - 1]
        start = self._source.statement_begin(begin)
        self._kernels.add(name.text)
        self._require_void(start, name)
        if body is None:
            return
        names = self._parameter_names(parameters[1:-1], name.text)
        bounds = self._bounds_of(start, parameters[0].begin)
        types = ", ".join(f"decltype({name}){pack}" for name, pack in names)
        values = "".join(f", {name}{pack}" for name, pack in names)
        self._insert(
            body[0].end,
            f' static ::musasim_kernel musasim_self = {{"{name.text}", {bounds}, "{self._architectures}", '
            f"&::musasim::call<{types}>, 0, 0, 0}}; if (::musasim_asked(&musasim_self)) return; "
            "::musasim::launch(musasim_self, [=](::musasim_parameters* musasim_asked_for) mutable -> void { "
            f"if (musasim_asked_for) return ::musasim::tell(musasim_asked_for{values});",
        )
        self._insert(body[-1].begin, "});")
        self._bodies.append((body[0].begin, body[-1].end))
        self.device_only.append(Body(name.text, "__global__", body[0].begin, body[-1].end))

    def _require_void(self, begin: int, name: Token) -> None:
        declared = [token.text for token in self._source.tokens(begin, name.begin)]
        wrong = sorted(set(declared) & {"int", "float", "double", "bool", "char", "long", "short", "auto"})
        if "void" not in declared and wrong and "<" not in declared:
            raise self._error(
                name.begin, f"kernel function type of '{name.text}' must have void return type, not '{wrong[0]}'"
            )

    def _signature(self, begin: int) -> tuple[list[Token], list[Token], list[Token] | None] | None:
        """Return what precedes a function's parameters, the parameters with their brackets, and the body if there is one."""
        head: list[Token] = []
        angles = 0
        skip_to = -1
        for token in self._source.tokens(begin):
            if token.begin < skip_to:
                continue
            if token.text == "(" and angles == 0:
                inner = bracketed(self._source, token.begin)
                if not inner:
                    return None
                if head and head[-1].text in CALL_LIKE:
                    skip_to = inner[-1].end
                    head.pop()
                    continue
                if head and head[-1].text == "operator" and inner[-1].begin == inner[0].end:
                    head.append(token)
                    skip_to = inner[-1].end
                    continue
                return head, inner, self._body(inner[-1].end)
            if token.kind == "mark":
                if token.text in ";{}=" and angles == 0 and not ends_in_operator(head):
                    return None
                if token.text == "[" and angles == 0 and not (head and head[-1].text == "operator"):
                    inner = bracketed(self._source, token.begin)
                    if len(inner) > 2 and inner[1].text == "[":  # an attribute
                        skip_to = inner[-1].end
                        continue
                    return None
                if token.text == "<" and head and head[-1].kind == "name" and head[-1].text != "operator":
                    angles += 1
                elif token.text in (">", ">>>") and angles:
                    angles = max(0, angles - len(token.text))
            head.append(token)
        return None

    def _body(self, begin: int) -> list[Token] | None:
        """Return the `{` and `}` of the body, after noexcept, -> T and : member(x), which may follow the parameters."""
        members = False
        skip_to = -1
        previous = ""
        for token in self._source.tokens(begin):
            if token.begin < skip_to:
                continue
            if token.text in (";", "=", "}") and token.kind == "mark":
                return None
            if token.text == ":":
                members = True
            elif token.text in ("(", "["):
                inner = bracketed(self._source, token.begin)
                if not inner:
                    return None
                skip_to = inner[-1].end
            elif token.text == "{":
                inner = bracketed(self._source, token.begin)
                if not inner:
                    return None
                if members and (previous[:1].isalnum() or previous[:1] == "_" or previous == ">"):
                    skip_to = inner[-1].end  # a member's initializer
                else:
                    return [inner[0], inner[-1]]
            previous = ")" if token.text == "(" else token.text
        return None

    def _bounds_of(self, begin: int, end: int) -> str:
        for bounds in self._bounds:
            if begin <= bounds.position < end:
                pieces = split_text(bounds.arguments)
                if not pieces:
                    raise self._error(bounds.position, "'__launch_bounds__' attribute takes at least 1 argument")
                constants = [f"::musasim::bound<static_cast<unsigned>({piece})>" for piece in pieces[:2]]
                return ", ".join([*constants, "0"][:2])
        return "0, 0"

    def _parameter_names(self, tokens: list[Token], kernel: str) -> list[tuple[str, str]]:
        """Return the name of every parameter, and `...` for a pack. Unnamed ones get a name."""
        names: list[tuple[str, str]] = []
        if [token.text for token in tokens] == ["void"]:
            return []
        for number, piece in enumerate(split(tokens)):
            if piece and piece[-1].text == "..." and len(piece) == 1:
                raise self._error(piece[0].begin, f"variadic kernel function '{kernel}' is not supported")
            name = declared_name(piece)
            if name is None:
                name, position = f"musasim_parameter_{number}", name_position(piece)
                if position is None:
                    raise self._error(
                        tokens[0].begin, f"expected a type for each parameter of kernel function '{kernel}'"
                    )
                self._insert(position, f" {name} ")
            pack = "..." if any(token.text == "..." for token in piece) else ""
            names.append((name, pack))
        return names

    # --- variables and functions of the device -----------------------------------------------------------------------

    def _device(self, begin: int, end: int) -> None:
        signature = self._signature(end)
        if signature is None:
            if not self._is_second_word(begin):
                self._variable(begin, end)
            return
        head, _, body = signature
        words = {token.text for token in self._source.tokens(self._source.statement_begin(begin), begin)}
        name = head[-1].text if head else ""
        self.device_functions.add(name)
        device_only = bool(name) and "__host__" not in words | {token.text for token in head}
        if device_only and not self._source.in_system_header(head[-1].begin):  # the word itself is a macro of one
            self._insert(end, f" {device_symbols.MARK} ")
        if body is not None:
            self._bodies.append((body[0].begin, body[-1].end))
            if device_only:
                self.device_only.append(Body(name, "__device__", body[0].begin, body[-1].end))

    def _is_second_word(self, begin: int) -> bool:
        """Return whether another word declares the variable, as in `__device__ __constant__ float x`."""
        start = self._source.statement_begin(begin)
        words = {token.text for token in self._source.tokens(start, begin)}
        rest = {token.text for token in until(self._source, begin, ";")}
        return bool({"__constant__", "__managed__"} & (words | rest)) or "typedef" in words or "using" in words

    def _variable(self, begin: int, end: int) -> None:
        source = self._source
        start = source.statement_begin(begin)
        statement = [*source.tokens(start, begin), *until(source, end, ";")]
        words = [token.text for token in statement]
        if self._is_in_body(begin):
            if statement and statement[0].begin >= end and not {"static", "{"} & set(words):
                word = source.text[begin:end]
                raise self._error(begin, f"an automatic {word} variable is not allowed inside a function of the device")
            return
        if (
            "__constant__" in words
            and words.index("__constant__") < len(words)
            and source.text[begin:end] == "__managed__"
        ):
            return
        if not statement or statement[-1].text != ";" or set(words) & {"extern", "constexpr", "template"}:
            return
        if defines_member(statement[:-1]):
            return
        if not {"static", "inline"} & set(words):
            if not self._relocatable:
                self._insert(begin, "static ")
        elif self._in_class(start):
            return
        for name in declared_names(without_storage(statement[:-1])):
            self._count += 1
            self._insert(
                statement[-1].end,
                f' static ::musasim::symbol musasim_symbol_{self._count}{{&{name}, sizeof({name}), "{name}"}};',
            )

    def _in_class(self, position: int) -> bool:
        opened: list[int] = []
        for match in re.finditer(r"[{}]", self._source.text[:position]):
            if match.group() == "{":
                opened.append(match.start())
            elif opened:
                opened.pop()
        if not opened:
            return False
        words = {token.text for token in self._source.tokens(self._source.statement_begin(opened[-1]), opened[-1])}
        return bool(words & {"class", "struct", "union"})

    def _convert(self) -> None:
        """Give the user's device code a device's conversions to integers."""
        done = 0
        parameters = type_parameters(self._source) if self._bodies else frozenset[str]()
        for begin, end in sorted(self._bodies):
            if begin < done or self._source.in_system_header(begin):
                continue  # a body within another
            done = end
            for conversion in conversions(self._source, begin, end, parameters):
                opening = "" if conversion.close is None else "("
                self._replace(conversion.begin, conversion.end, f"::musasim::converted<{conversion.type}>{opening}")
                if conversion.close is not None:
                    self._insert(conversion.close, ")")

    # --- shared memory ---------------------------------------------------------------------------------------------------

    def _shared(self, begin: int, end: int) -> None:
        source = self._source
        start = source.statement_begin(begin)
        before = list(source.tokens(start, begin))
        statement = until(source, end, ";")
        if not statement:
            raise self._error(begin, "expected ';' after a '__shared__' variable")
        externs = [token for token in before + statement if token.text == "extern"]
        alignments = self._without_alignments(statement)
        if externs:
            self._dynamic_shared(begin, end, externs, statement)
            return
        self._refuse_initializer(statement)
        self._insert(before[0].begin if before else begin, alignments)
        is_static = any(token.text == "static" for token in before + statement)
        self._replace(begin, end, self._storage.removeprefix("static " if is_static else ""))
        if self._is_in_body(begin):
            names = declared_names(without_storage([*before, *statement[:-1]]))
            for name in names:
                self._count += 1
                seen = f"musasim_seen_{self._count}"
                text = f" {self._storage}unsigned long long {seen}; ::musasim::declare_shared({name}, {seen});"
                self._insert(statement[-1].end, self._seen_by_memcheck(name, statement) + text)

    def _refuse_initializer(self, statement: list[Token]) -> None:
        """Every thread would write the value, so a device's compiler takes none."""
        for declarator in split(statement[:-1]):
            if value := initial_value(declarator):
                name = declared_name(declarator)
                raise self._error(value[0].begin, f"initializer not allowed for __shared__ variable '{name}'")

    def _seen_by_memcheck(self, name: str, statement: list[Token]) -> str:
        """Give the variable a name of ours, and return a reference that has its own, if accesses are looked at.

        GCC says nothing of an access to a fixed place of a variable that it sees, such as sums[0], because it is within bounds.
        """
        places = [token for token in statement if token.text == name]
        if not self._checked or len(places) != 1:
            return ""
        kept = f"musasim_shared_{self._count}"
        self._replace(places[0].begin, places[0].end, kept)
        return f" static auto& {name} __attribute__((unused)) = ::musasim::unknown({kept});"

    def _without_alignments(self, statement: list[Token]) -> str:
        """Remove each alignas(...) from a declaration, and return them: GCC wants them before `static`."""
        alignments = []
        for index, token in enumerate(statement):
            if token.text in ("{", "[", "="):  # behind these stand members and values
                break
            if token.text == "alignas":
                close = closing(statement, index + 1)
                if close == len(statement):
                    raise self._error(token.begin, "expected '(' and ')' after 'alignas'")
                end = statement[close].end
                alignments.append(joined(self._source.text[token.begin : end]) + " ")
                self._replace(token.begin, end, "")
        return "".join(alignments)

    def _dynamic_shared(self, begin: int, end: int, externs: list[Token], statement: list[Token]) -> None:
        name = declared_name(statement[:-1])
        at = next((index for index, token in enumerate(statement) if token.text == name), None)
        if name is None or at is None or statement[at + 1].text != "[" or len(split(statement[:-1])) > 1:
            raise self._error(begin, "an 'extern __shared__' variable must be one array of unknown bound")
        for extern in externs:
            self._replace(extern.begin, extern.end, self._storage)
        self._replace(begin, end, "__attribute__((unused))")
        self._insert(statement[at].begin, "(&")
        self._insert(statement[at].end, ")")
        self._insert(statement[-1].begin, f" = reinterpret_cast<decltype({name})>(::musasim_dynamic_shared[0])")
        # One variable for all functions of a namespace, as on a device: the compiler refuses it where they name different types.
        self._insert(
            statement[-1].end,
            f" extern __attribute__((unused)) ::musasim::refers_to<decltype({name})> musasim_type_of_{name};",
        )
