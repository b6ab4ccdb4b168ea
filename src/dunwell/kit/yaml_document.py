"""YAML as people mean it: the values JSON has, no key twice. Pure.

PyYAML reads YAML 1.1, where `18:00` is 1080, `no` is false and a day is a date object; here a plain
scalar is a string unless it is null, true, false or a number as JSON writes them.
"""

import re
from collections.abc import Hashable
from typing import Any

import yaml


class DocumentFaulty(Exception):  # noqa: N818 - reads as what is wrong
    """The text is no YAML; the message says where and why."""


def parse_yaml(text: str) -> Any:
    """The value of a document (JSON is YAML too). Raises DocumentFaulty."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader with fewer types
    except yaml.YAMLError as error:
        raise DocumentFaulty(_describe(error)) from error
    except RecursionError as error:
        raise DocumentFaulty("The document is nested too deeply.") from error


class _Loader(yaml.SafeLoader):
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


_Loader.yaml_implicit_resolvers = {}
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


def _describe(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    if mark is None:
        return f"{problem}."
    return f"Line {mark.line + 1}, column {mark.column + 1}: {problem}."
