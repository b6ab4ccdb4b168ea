"""Every fault of a JSON value against a msgspec type, with JSON pointers and words that help.

msgspec itself stops at the first fault; here its own JSON Schema of the type is walked by
jsonschema. Rules that a schema cannot state belong to the folder that knows them. Pure.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import jsonschema
import msgspec
from jsonschema.exceptions import ValidationError as Finding

from dunwell.errors import Fault
from dunwell.kit.beyond_schema import MOST_KEYS, cut_excess, find_conversion_fault

Part = TypeVar("Part")

# What a pattern that refuses control characters is described by.
PLAIN_TEXT = "a text without control characters"
# What is told of one value; whoever made more mistakes mends these first.
MOST_FAULTS = 100
# How long a name is compared with ours.
_LONGEST_NAME = 100

_TYPES_IN_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_LIMITS = {
    "minLength": ("TOO_SHORT", "Use at least {} characters."),
    "maxLength": ("TOO_LONG", "Use at most {} characters."),
    "minItems": ("TOO_FEW", "Give at least {} of these."),
    "maxItems": ("TOO_MANY", "Give at most {} of these."),
    "minProperties": ("TOO_FEW", "Give at least {} of these."),
    "maxProperties": ("TOO_MANY", "Give at most {} of these."),
    "minimum": ("TOO_SMALL", "Use {} or more."),
    "exclusiveMinimum": ("TOO_SMALL", "Use more than {}."),
    "maximum": ("TOO_LARGE", "Use {} or less."),
    "exclusiveMaximum": ("TOO_LARGE", "Use less than {}."),
}


def find_faults(value: object, shape: type) -> list[Fault]:
    """All faults of `value` (parsed JSON) against the msgspec type `shape`; none: it converts.

    Paths are JSON pointers, "" the root. A missing field is pointed at as if it were there. Of a
    tagged union the branch that the tag names is reported. A pattern's or format's message is the
    `description` of its `msgspec.Meta`, when it has one. At most MOST_FAULTS are looked for and
    told; that there may be more is the last one's message.
    """
    if isinstance(value, dict) and len(value) > MOST_KEYS:
        words = f"The object has {len(value)} fields; none of ours has so many."
        return [Fault("", words, "TOO_MANY")]
    rest, excess = cut_excess(value, shape)
    code, words = _LIMITS["maxItems"]
    faults = [
        Fault(render_pointer([name]), words.format(most), code) for name, most in excess.items()
    ]
    findings = _validator(shape).iter_errors(rest)
    described = (fault for each in findings for fault in _describe(each))
    faults += islice(_once(described), MOST_FAULTS + 1 - len(faults))
    if len(faults) > MOST_FAULTS:
        faults[MOST_FAULTS - 1 :] = [MORE_FAULTS]
    return faults or find_conversion_fault(value, shape)


MORE_FAULTS = Fault("", "There may be more faults; mend those that are told first.", "MORE_FAULTS")


def _once(faults: Iterator[Fault]) -> Iterator[Fault]:
    seen: set[Fault] = set()
    for fault in faults:
        if fault not in seen:
            seen.add(fault)
            yield fault


def read_if_fits(value: object, shape: type[Part]) -> Part | None:
    """The value as `shape`, or None when it is of another, which `find_faults` reports."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return None


def render_pointer(parts: Collection[str | int]) -> str:
    """The JSON pointer (RFC 6901) of these keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def render_nearest(name: str, known: Collection[str]) -> str:
    """What to say after an unknown name: the nearest known one, or all there are."""
    is_short = len(name) <= _LONGEST_NAME  # a long one is like none of ours, and takes long
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6) if is_short else []
    # Typed in another case, a short name is further off than it looks.
    near = near or [each for each in known if each.lower() == name.lower()]
    if near:
        return f'Did you mean "{near[0]}"?'
    return f"Known: {', '.join(known)}." if known else "None is known here."


@cache
def _validator(shape: type) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        msgspec.json.schema(shape), format_checker=jsonschema.FormatChecker(("date", "uuid"))
    )


def _describe(finding: Finding) -> Iterator[Fault]:
    kind = str(finding.validator)
    if "propertyNames" in finding.absolute_schema_path:
        yield _describe_key(finding)
    elif kind == "required":
        yield from _describe_missing(finding)
    elif kind == "additionalProperties":
        yield from _describe_unknown(finding)
    elif kind == "anyOf":
        yield from _describe_union(finding)
    elif kind == "type":
        yield _wrong_type(finding, [str(finding.validator_value)])
    elif kind in ("enum", "const"):
        yield _describe_choice(finding)
    else:
        yield _describe_limit(finding, kind)


def _fault(finding: Finding, code: str, message: str, name: str | None = None) -> Fault:
    parts = [*finding.absolute_path, *([] if name is None else [name])]
    return Fault(render_pointer(parts), message, code)


def _describe_key(finding: Finding) -> Fault:
    name = str(finding.instance)
    wanted = _describe_limit(finding, str(finding.validator)).message
    message = f'"{_shorten(name)}" is not a good name here. {wanted}'
    return _fault(finding, "UNKNOWN_FIELD", message, name)


def _describe_missing(finding: Finding) -> Iterator[Fault]:
    given = _given(finding)
    for name in _wanted(finding):
        if name not in given:
            yield _fault(finding, "REQUIRED", f'"{name}" is required.', name)


def _describe_unknown(finding: Finding) -> Iterator[Fault]:
    known = list(_as_mapping(finding.schema).get("properties", {}))
    for name in _given(finding):
        if name not in known:
            message = f'"{_shorten(name)}" is not known here. {render_nearest(name, known)}'
            yield _fault(finding, "UNKNOWN_FIELD", message, name)


def _describe_union(finding: Finding) -> Iterator[Fault]:
    schema = _as_mapping(finding.schema)
    if "discriminator" in schema and isinstance(finding.instance, dict):
        yield from _describe_tagged(finding, schema["discriminator"])
        return
    branches = _branches(finding)
    fitting = [each for each in branches.values() if not any(map(_is_about_type, each))]
    if not fitting:
        expected = [
            str(found.validator_value)
            for branch in branches.values()
            for found in branch
            if _is_about_type(found) and found.validator == "type"
        ]
        # A tagged union inside a nullable one speaks as the object it is.
        yield _wrong_type(finding, list(dict.fromkeys(expected)))
        return
    for child in fitting[0]:
        yield from _describe(child)


def _describe_tagged(finding: Finding, discriminator: Mapping[str, Any]) -> Iterator[Fault]:
    tag_field, mapping = discriminator["propertyName"], discriminator["mapping"]
    given = _given(finding)
    if tag_field not in given:
        kinds = ", ".join(mapping)
        message = f'"{tag_field}" is required: one of {kinds}.'
        yield _fault(finding, "REQUIRED", message, tag_field)
        return
    tag = given[tag_field]
    if not isinstance(tag, str) or tag not in mapping:
        message = f"{_show(tag)} is not known here. {render_nearest(str(tag), list(mapping))}"
        yield _fault(finding, "NOT_ALLOWED", message, tag_field)
        return
    places = [branch["$ref"] for branch in _as_mapping(finding.schema)["anyOf"]]
    for child in _branches(finding).get(places.index(mapping[tag]), []):
        yield from _describe(child)


def _branches(finding: Finding) -> dict[int, list[Finding]]:
    """What each branch of a union found, by its place."""
    branches: dict[int, list[Finding]] = {}
    for child in finding.context or ():
        branches.setdefault(int(child.relative_schema_path[0]), []).append(child)
    return branches


def _is_about_type(finding: Finding) -> bool:
    """Whether the branch cannot be meant at all: the value itself is of another type."""
    return finding.validator == "type" and not finding.relative_path


def _wrong_type(finding: Finding, expected: list[str]) -> Fault:
    wanted = [_TYPES_IN_WORDS.get(each, each) for each in expected if each != "null"]
    message = f"Expected {' or '.join(wanted) or 'an object'}, not {_type_of(finding.instance)}."
    return _fault(finding, "WRONG_TYPE", message)


def _describe_choice(finding: Finding) -> Fault:
    known = [str(each) for each in _wanted(finding) if each is not None]
    nearest = render_nearest(str(finding.instance), known)
    if not nearest.startswith("Known"):
        nearest = f"{nearest} Known: {', '.join(known)}."
    return _fault(finding, "NOT_ALLOWED", f"{_show(finding.instance)} is not allowed. {nearest}")


def _describe_limit(finding: Finding, kind: str) -> Fault:
    if kind in _LIMITS:
        code, words = _LIMITS[kind]
        return _fault(finding, code, words.format(finding.validator_value))
    schema = _as_mapping(finding.schema)
    wanted = schema.get("description") or f"{kind} {finding.validator_value}"
    code = "CONTROL_CHARACTER" if wanted == PLAIN_TEXT else "WRONG_FORMAT"
    return _fault(finding, code, f"Expected {str(wanted).rstrip('.')}.")


def _given(finding: Finding) -> Any:
    """The value at the finding's place."""
    return finding.instance


def _wanted(finding: Finding) -> Any:
    """What the schema's keyword asks for."""
    return finding.validator_value


def _as_mapping(schema: Any) -> Mapping[str, Any]:
    return schema if isinstance(schema, Mapping) else {}


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for kind, name in ((str, "string"), (int, "integer"), (float, "number"), (dict, "object")):
        if isinstance(value, kind):
            return _TYPES_IN_WORDS[name]
    return "an array" if isinstance(value, list) else f"a {type(value).__name__}"


def _show(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else msgspec.json.encode(value).decode()
    return _shorten(text)


def _shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
