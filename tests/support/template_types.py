"""The possible types of values in a template, as far as annotations state them.

The kinds of a value are its possible classes or generic types. A value about which nothing is known
has the kind `Unknown` and every attribute.
"""

import ast
import collections.abc
import dataclasses
import enum
import functools
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# None is not listed among the types of a value, because a template tests for it before it reads.
Kinds = frozenset[Any]
_CONTAINERS = (collections.abc.Iterable, collections.abc.Mapping)
_WRAPPERS = (typing.Annotated, typing.Final, typing.ClassVar)


class Unknown:
    """A value of any type."""


@dataclass(frozen=True)
class ManyOf:
    """A list or tuple written in a template."""

    kinds: Kinds


@dataclass(frozen=True)
class DictOf:
    """A dictionary with known keys."""

    entries: tuple[tuple[str, Kinds], ...]


@dataclass(frozen=True)
class Function:
    """A callable, described by the function that declares its return type."""

    called: Callable[..., Any]


UNKNOWN: Kinds = frozenset({Unknown})


def join(parts: Iterable[Kinds]) -> Kinds:
    return frozenset().union(*parts)


def list_kinds(hint: Any) -> Kinds:
    """Return the possible types of a value with this annotation."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return join(list_kinds(each) for each in typing.get_args(hint))
    if origin in _WRAPPERS:
        return list_kinds(typing.get_args(hint)[0])
    if origin is typing.Literal:
        return frozenset(type(each) for each in typing.get_args(hint))
    if isinstance(hint, typing.NewType):
        return list_kinds(hint.__supertype__)
    if hint is None or hint is type(None):
        return frozenset()
    # Any is a class since Python 3.11.
    is_type = isinstance(hint, type) or origin is not None
    return frozenset({hint}) if is_type and hint not in (Any, object) else UNKNOWN


def list_returned(called: Any) -> Kinds:
    """Return the possible types of a function's result."""
    try:
        return list_kinds(typing.get_type_hints(called, include_extras=True).get("return", Any))
    # The annotation names a type that is imported only for type checking.
    except (NameError, TypeError):
        return UNKNOWN


def list_items(kinds: Kinds) -> Kinds:
    """Return the types of the items of a value of these kinds."""
    return join(_list_items_of_kind(kind) for kind in kinds)


def _list_items_of_kind(kind: Any) -> Kinds:
    if isinstance(kind, ManyOf):
        return kind.kinds
    if isinstance(kind, DictOf) or kind is str:
        return frozenset({str})
    origin, arguments = _read_generic(kind)
    if not arguments or not issubclass(origin, _CONTAINERS):
        return UNKNOWN
    if issubclass(origin, tuple):
        return join(list_kinds(each) for each in arguments if each is not Ellipsis)
    return list_kinds(arguments[0])


def list_at(kinds: Kinds, place: int) -> Kinds:
    """Return the possible types of `value[place]`."""
    found: list[Kinds] = []
    for kind in kinds:
        origin, arguments = _read_generic(kind)
        if origin is tuple and Ellipsis not in arguments and place < len(arguments):
            found.append(list_kinds(arguments[place]))
        else:
            found.append(_list_values(kind))
    return join(found)


def list_values(kinds: Kinds) -> Kinds:
    """Return the possible types of `value[key]` for any key."""
    return join(_list_values(kind) for kind in kinds)


def _list_values(kind: Any) -> Kinds:
    if isinstance(kind, DictOf):
        return join(kinds for _, kinds in kind.entries)
    origin, arguments = _read_generic(kind)
    if issubclass(origin, collections.abc.Mapping) and len(arguments) == 2:
        return list_kinds(arguments[1])
    return _list_items_of_kind(kind) if isinstance(kind, ManyOf) or arguments else UNKNOWN


def _read_generic(kind: Any) -> tuple[type, tuple[Any, ...]]:
    """Return the class of a generic type and its arguments."""
    origin = typing.get_origin(kind) or kind
    return (origin, typing.get_args(kind)) if isinstance(origin, type) else (object, ())


def find_attribute(kind: Any, name: str) -> Kinds | None:
    """Return the possible types of an attribute, or None if there is no such attribute. Jinja reads
    `value.name` as `value["name"]` if there is no attribute."""
    if kind is Unknown or isinstance(kind, Function):
        return UNKNOWN
    if name.isdecimal():
        return list_at(frozenset({kind}), int(name))
    if isinstance(kind, ManyOf):
        return UNKNOWN if hasattr(list, name) else None
    if isinstance(kind, DictOf):
        return dict(kind.entries).get(name, UNKNOWN if hasattr(dict, name) else None)
    return _find_in_classes(kind, name)


def _find_in_classes(kind: Any, name: str) -> Kinds | None:
    owner, given = _read_generic(kind)
    parameters = dict(zip(getattr(owner, "__parameters__", ()), given, strict=False))
    found = _find_in_class(owner, name, parameters)
    if found is None and issubclass(owner, collections.abc.Mapping):
        return _list_values(kind)
    # A template that tests the class of a value may read attributes that only this class declares.
    for each in () if found is not None else _list_subclasses(owner):
        found = _find_in_class(each, name, {}) if found is None else found
    return found


def _list_subclasses(owner: type) -> list[type]:
    if owner in (object, type):
        return []
    below: list[type] = type.__subclasses__(owner)
    return [each for direct in below for each in (direct, *_list_subclasses(direct))]


def _find_in_class(owner: type, name: str, parameters: Mapping[Any, Any]) -> Kinds | None:
    hints = _read_hints(owner)
    if name in hints:
        return list_kinds(parameters.get(hints[name], hints[name]))
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        return _list_assigned(owner).get(name)
    return _describe_member(owner, found)


def _describe_member(owner: type, member: Any) -> Kinds:
    if isinstance(member, property):
        return list_returned(member.fget)
    if isinstance(member, functools.cached_property):
        return list_returned(member.func)
    if isinstance(member, staticmethod | classmethod):
        return frozenset({Function(member.__func__)})
    if isinstance(member, enum.Enum):
        return frozenset({owner})
    return frozenset({Function(member)}) if inspect.isfunction(member) else UNKNOWN


@functools.cache
def _read_hints(owner: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except NameError:  # The annotation names a type that is imported only for type checking.
        return {}


@functools.cache
def _list_assigned(owner: type) -> dict[str, Kinds]:
    """Return the attributes that `__init__` sets in one of our classes."""
    written = vars(owner).get("__init__")
    is_ours = owner.__module__.startswith("dunwell.") and not dataclasses.is_dataclass(owner)
    if not is_ours or not isinstance(written, types.FunctionType):
        return {}
    hints = typing.get_type_hints(written, include_extras=True)
    assigned: dict[str, Kinds] = {}
    for each in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(written)))):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Attribute):
            value = each.value
            hint = hints.get(value.id, Any) if isinstance(value, ast.Name) else Any
            assigned[each.targets[0].attr] = list_kinds(hint)
    return assigned
