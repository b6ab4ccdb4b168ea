"""YAML documents with the values of JSON and no repeated keys: read them, write them, find lines.

PyYAML implements YAML 1.1, in which `18:00` is 1080, `no` is false and a date is a date object.
Here a plain scalar is a string unless it is null, true, false or a number in JSON's notation. Pure.
"""

import math
import re
from collections.abc import Hashable, Sequence
from typing import Any

import yaml

# The types of JSON. Dates, sets and bytes are refused, whatever a tag says.
_KINDS = frozenset({"null", "bool", "int", "float", "str", "seq", "map"})
# How many parts and characters aliases may add to those that are written.
_MAX_SHARED = 1_000_000
# The largest number of written values, keys, lists and maps. A workflow with 25 letters has fewer
# than 2,000. Reading this many takes about half a second.
MAX_PARTS = 100_000
# The largest depth of nested lists and maps. A workflow has fewer than ten levels. libyaml's parser
# is recursive, and deep nesting would overflow the stack.
MAX_DEPTH = 100


class InvalidDocument(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The text cannot be read as YAML. The message says where and why."""


def parse_yaml(text: str) -> Any:
    """Return the value of a document. JSON is YAML, too. Raises InvalidDocument."""
    try:
        _check_size(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader with fewer types
    except yaml.YAMLError as error:
        raise InvalidDocument(_describe_error(error)) from error
    except RecursionError as error:
        raise InvalidDocument("The document is nested too deeply.") from error
    except (ValueError, LookupError) as error:
        problem = "a value does not fit its tag (!!), or a number is too long"
        raise InvalidDocument(f"The document cannot be read: {problem}.") from error


def render_yaml(value: Any) -> str:
    """Return a document that `parse_yaml` reads as the same value. Texts with several lines are
    blocks."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10_000, indent=2
    )
    return text


def list_lines(text: str, places: Sequence[Sequence[str | int]]) -> list[int]:
    """Return the line number, from 1, of each place, which is a sequence of keys and indexes. If a
    place does not exist, it is the line of the nearest part around it. `parse_yaml` must accept
    `text`."""
    root = yaml.compose(text, Loader=_Loader)
    members = _Members()
    return [_find_line(root, parts, members) for parts in places]


def _check_size(text: str) -> None:
    """Refuse a document with too many parts before its values are built."""
    parts = depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.NodeEvent):
            parts += 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise InvalidDocument(f"The document is nested more than {MAX_DEPTH} levels deep.")
        if parts > MAX_PARTS:
            raise InvalidDocument(f"The document has more than {MAX_PARTS:,} values and keys.")


def _find_line(node: yaml.Node | None, parts: Sequence[str | int], members: "_Members") -> int:
    line = 1 if node is None else _get_line(node)
    for part in parts:
        member = members.find(node, str(part))
        if member is None:
            break
        mark, node = member
        line = _get_line(mark)
    return line


class _Members:
    """Looks up the members of maps by key, so that thousands of places in one map are found
    quickly."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, tuple[yaml.Node, yaml.Node]]] = {}

    def find(self, node: yaml.Node | None, part: str) -> tuple[yaml.Node, yaml.Node] | None:
        """Return the node where a member begins (its key), and its value."""
        if isinstance(node, yaml.MappingNode):
            if id(node) not in self._known:
                self._known[id(node)] = {
                    key.value: (key, value)
                    for key, value in reversed(node.value)
                    if isinstance(key, yaml.ScalarNode)
                }
            return self._known[id(node)].get(part)
        is_index = isinstance(node, yaml.SequenceNode) and part.isdecimal()
        if node is not None and is_index and int(part) < len(node.value):
            return node.value[int(part)], node.value[int(part)]
        return None


def _get_line(node: yaml.Node) -> int:
    line: int = node.start_mark.line
    return line + 1


class _Loader(yaml.CSafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._max_size = _MAX_SHARED + 2 * len(text)

    def get_single_node(self) -> yaml.Node | None:
        """Refuse a document whose aliases expand too much before its values are built: a few lines
        can refer to one another billions of times."""
        node: yaml.Node | None = super().get_single_node()
        if node is not None and _compute_size(node, {}) > self._max_size:
            problem = "aliases (& and *) make it far too large; write the parts out"
            raise yaml.composer.ComposerError(None, None, problem, node.start_mark)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - the overridden signature
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            name = str(getattr(key, "value", ""))
            if key.tag != "tag:yaml.org,2002:str":
                problem = f'put the key "{name}" in quotes'
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            if name in seen:
                problem = f'the key "{name}" is there twice; keep one'
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def _compute_size(node: yaml.Node, known: dict[int, float]) -> float:
    """Return the number of parts and characters with every alias expanded, infinity for a node that
    contains itself. `known` caches the results by identity."""
    if id(node) not in known:
        known[id(node)] = math.inf
        inner = node.value
        if isinstance(node, yaml.MappingNode):
            inner = [child for pair in inner for child in pair]
        is_plain = isinstance(node, yaml.ScalarNode)
        size = (
            float(len(inner)) if is_plain else sum(_compute_size(child, known) for child in inner)
        )
        known[id(node)] = 1 + size
    return known[id(node)]


_Loader.yaml_implicit_resolvers = {}
_Loader.yaml_constructors = {
    tag: make
    for tag, make in _Loader.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in _KINDS
}
_SCALARS = {
    "null": (r"null|~|", ["n", "~", ""]),
    "bool": (r"true|false", ["t", "f"]),
    "int": (r"-?(0|[1-9][0-9]*)", list("-0123456789")),
    "float": (r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", list("-0123456789")),
    "merge": (r"<<", ["<"]),
}
for _name, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}", re.compile(rf"^(?:{_pattern})$"), _first
    )


class _Dumper(yaml.SafeDumper):
    """Quotes every text that the loader, or a YAML 1.1 parser, would not read as a string."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the overridden signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the overridden signature
        super().increase_indent(flow, indentless=False)


for _name, (_pattern, _first) in _SCALARS.items():
    _Dumper.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}", re.compile(rf"^(?:{_pattern})$"), _first
    )


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    is_block = len(lines) > 1 and all(
        line.isprintable() and line == line.rstrip() for line in lines
    )
    style = None
    if is_block and not text[0].isspace():
        style = "|"
    elif text[:1].isdigit():  # Other parsers would read some times and amounts as numbers.
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.SequenceNode:
    is_short = all(isinstance(each, str | int) and len(str(each)) <= 12 for each in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=is_short)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)


def _describe_error(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    if mark is None:
        return f"{problem}."
    return f"Line {mark.line + 1}, column {mark.column + 1}: {problem}."
