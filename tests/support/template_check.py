"""Checks the attributes that templates read against the types of the values that they receive.

A template is evaluated as Jinja would render it, with types in place of values: every branch of
every condition, each loop once, each macro for the types of its arguments. An attribute is reported
if none of the possible types of a value declares it. A value of unknown type is not checked.
"""

import functools
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import nodes
from jinja2.environment import Environment
from jinja2.runtime import LoopContext
from jinja2.utils import Namespace

from tests.support.template_types import (
    UNKNOWN,
    DictOf,
    Function,
    Kinds,
    ManyOf,
    Unknown,
    find_attribute,
    join,
    list_at,
    list_items,
    list_kinds,
    list_returned,
    list_values,
)

_SAME_ITEMS = {"list", "sort", "reverse", "unique", "select", "reject", "selectattr", "rejectattr"}
_ONE_ITEM = {"first", "last", "min", "max", "random"}


@dataclass(frozen=True, eq=False)
class _Macro:
    """A macro, or the body of a call that a macro shows as `caller()`."""

    node: nodes.Macro | nodes.CallBlock
    template: str
    names: "_Scope"


class _Scope:
    def __init__(self, names: dict[str, Kinds], outer: "_Scope | None" = None) -> None:
        self.names = names
        self.outer = outer

    def find(self, name: str) -> Kinds | None:
        if name in self.names:
            return self.names[name]
        return self.outer.find(name) if self.outer else None

    def add(self, name: str, kinds: Kinds) -> None:
        """Add possible types to a name; a branch may have set it before."""
        self.names[name] = self.names.get(name, frozenset()) | kinds


@dataclass
class TemplateCheck:
    """The templates of one environment."""

    environment: Environment
    # Faults in the form "template:line: description".
    faults: set[str] = field(default_factory=set)
    # Each attribute that is read: template, line and name -> whether the type of its owner is
    # known.
    reads: dict[tuple[str, int, str], bool] = field(default_factory=dict)
    _seen: set[Any] = field(default_factory=set)
    _modules: dict[tuple[str, _Scope | None], _Scope] = field(default_factory=dict)

    def check(self, template: str, given: Mapping[str, Kinds]) -> None:
        """Check a template. `given` holds the values that it may read by name."""
        globals_ = {name: _describe(value) for name, value in self.environment.globals.items()}
        names = _Scope({**globals_, **given})
        _Walk(self, template, names, {}).render()

    def parse(self, template: str) -> nodes.Template:
        return _parse(self.environment, template)

    def import_names(self, template: str, context: "_Scope | None") -> _Scope:
        """Return the names that a template defines for templates that import it. `context` holds
        the other names that it may read; None for an import without context."""
        if (template, context) not in self._modules:
            globals_ = {name: _describe(value) for name, value in self.environment.globals.items()}
            scope = _Scope({} if context else globals_, context)
            self._modules[template, context] = scope
            _Walk(self, template, scope, {}).visit_all(self.parse(template).body, scope)
        return self._modules[template, context]

    def is_new(self, called: Any) -> bool:
        if called in self._seen:
            return False
        self._seen.add(called)
        return True


@functools.cache
def _parse(environment: Environment, template: str) -> nodes.Template:
    assert environment.loader is not None
    source, _, _ = environment.loader.get_source(environment, template)
    return environment.parse(source, template)


def _describe(value: Any) -> Kinds:
    if inspect.isfunction(value) or inspect.ismethod(value) or inspect.isclass(value):
        return frozenset({Function(value)})
    return frozenset({type(value)})


def _find_attribute(node: nodes.Filter) -> str | None:
    """Return the attribute of the items that a filter reads if the template names it."""
    named: dict[str, nodes.Node] = {str(each.key): each.value for each in node.kwargs}
    found: nodes.Node | None = named.get("attribute")
    if node.name in ("selectattr", "rejectattr", "groupby") and node.args:
        found = node.args[0]
    return found.value if isinstance(found, nodes.Const) and isinstance(found.value, str) else None


class _Expressions:
    """Computes the possible types of a template's expressions."""

    def __init__(
        self, check: TemplateCheck, template: str, names: _Scope, blocks: dict[str, list[Any]]
    ) -> None:
        self.check = check
        self.template = template
        self.names = names
        # Block name -> its contents; those of the outermost template come first.
        self.blocks = blocks

    def report(self, node: nodes.Node, text: str) -> None:
        self.check.faults.add(f"{self.template}:{node.lineno}: {text}")

    def find_kinds(self, node: nodes.Node, names: _Scope) -> Kinds:
        handler = getattr(self, f"_find_{type(node).__name__.lower()}", None)
        if handler is not None:
            found: Kinds = handler(node, names)
            return found
        for each in node.iter_child_nodes():
            self.find_kinds(each, names)
        return UNKNOWN

    def _find_name(self, node: nodes.Name, names: _Scope) -> Kinds:
        found = names.find(node.name)
        if found is None:
            self.report(node, f"there is no {node.name}")
            return UNKNOWN
        return found

    def _find_const(self, node: nodes.Const, names: _Scope) -> Kinds:
        del names
        return frozenset() if node.value is None else frozenset({type(node.value)})

    def _find_getattr(self, node: nodes.Getattr, names: _Scope) -> Kinds:
        return self.read(node, self.find_kinds(node.node, names), node.attr)

    def read(self, node: nodes.Node, kinds: Kinds, name: str) -> Kinds:
        found = [find_attribute(kind, name) for kind in kinds]
        place = (self.template, node.lineno, name)
        is_known = bool(kinds) and Unknown not in kinds
        self.check.reads[place] = self.check.reads.get(place, False) or is_known
        if found and all(each is None for each in found):
            owners = ", ".join(sorted(getattr(kind, "__name__", str(kind)) for kind in kinds))
            self.report(node, f"{owners} has no {name}")
            return UNKNOWN
        return join(each for each in found if each is not None)

    def _find_getitem(self, node: nodes.Getitem, names: _Scope) -> Kinds:
        kinds = self.find_kinds(node.node, names)
        self.find_kinds(node.arg, names)
        if isinstance(node.arg, nodes.Slice):
            return kinds
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, int):
            return list_at(kinds, node.arg.value)
        return list_values(kinds)

    def _find_call(self, node: nodes.Call, names: _Scope) -> Kinds:
        return self.call(node, names)

    def call(self, node: nodes.Call, names: _Scope, caller: Kinds | None = None) -> Kinds:
        called = self.find_kinds(node.node, names)
        given = [self.find_kinds(each, names) for each in node.args]
        named = {each.key: self.find_kinds(each.value, names) for each in node.kwargs}
        for each in (node.dyn_args, node.dyn_kwargs):
            if each is not None:
                self.find_kinds(each, names)
        is_open = node.dyn_args is not None or node.dyn_kwargs is not None
        if caller is not None:
            named["caller"] = caller
        returned: list[Kinds] = []
        for each in called:
            if isinstance(each, _Macro):
                self.call_macro(each, given, named, is_open)
                returned.append(UNKNOWN)
            elif isinstance(each, Function) and isinstance(each.called, functools.partial):
                each.called()
                returned.append(UNKNOWN)
            elif isinstance(each, Function) and isinstance(each.called, type):
                is_open = issubclass(each.called, Namespace)
                returned.append(UNKNOWN if is_open else list_kinds(each.called))
            elif isinstance(each, Function):
                returned.append(list_returned(each.called))
            else:
                returned.append(UNKNOWN)
        return join(returned)

    def call_macro(
        self, macro: _Macro, given: Sequence[Kinds], named: Mapping[str, Kinds], is_open: bool
    ) -> None:
        """Evaluate the macro's body once for these types."""
        if not self.check.is_new(
            (macro.node, macro.names, tuple(given), tuple(named.items()), is_open)
        ):
            return
        node = macro.node
        walk = _Walk(self.check, macro.template, macro.names, {})
        names = _Scope({"varargs": UNKNOWN, "kwargs": UNKNOWN}, macro.names)
        defaults = dict(
            zip([each.name for each in node.args][::-1], list(node.defaults)[::-1], strict=False)
        )
        for place, argument in enumerate(node.args):
            if place < len(given):
                kinds = given[place]
            elif argument.name in named:
                kinds = named[argument.name]
            elif is_open:
                kinds = UNKNOWN
            elif argument.name in defaults:
                kinds = walk.find_kinds(defaults[argument.name], names)
            else:
                kinds = frozenset()
            names.names[argument.name] = kinds
        names.names["caller"] = named.get("caller", frozenset())
        walk.visit_all(node.body, names)

    def _find_filter(self, node: nodes.Filter, names: _Scope) -> Kinds:
        kinds = UNKNOWN if node.node is None else self.find_kinds(node.node, names)
        given = [self.find_kinds(each, names) for each in node.args]
        for each in node.kwargs:
            self.find_kinds(each.value, names)
        attribute = _find_attribute(node)
        if attribute is not None:
            items = list_items(kinds)
            for part in attribute.split("."):
                items = self.read(node, items, part)
            if node.name == "map":
                return frozenset({ManyOf(items)})
        if node.name in _SAME_ITEMS:
            return frozenset({ManyOf(list_items(kinds))})
        if node.name in _ONE_ITEM:
            return list_items(kinds)
        if node.name in ("default", "d"):
            return join([kinds, *given])
        return UNKNOWN

    def _find_condexpr(self, node: nodes.CondExpr, names: _Scope) -> Kinds:
        self.find_kinds(node.test, names)
        parts = [each for each in (node.expr1, node.expr2) if each is not None]
        return join(self.find_kinds(each, names) for each in parts)

    def _find_or(self, node: nodes.Or, names: _Scope) -> Kinds:
        return self.find_kinds(node.left, names) | self.find_kinds(node.right, names)

    _find_and = _find_or

    def _find_add(self, node: nodes.Add, names: _Scope) -> Kinds:
        return self.find_kinds(node.left, names) | self.find_kinds(node.right, names)

    def _find_list(self, node: nodes.List | nodes.Tuple, names: _Scope) -> Kinds:
        return frozenset({ManyOf(join(self.find_kinds(each, names) for each in node.items))})

    _find_tuple = _find_list

    def _find_dict(self, node: nodes.Dict, names: _Scope) -> Kinds:
        entries = []
        for each in node.items:
            kinds = self.find_kinds(each.value, names)
            if not isinstance(each.key, nodes.Const):
                return UNKNOWN
            entries.append((str(each.key.value), kinds))
        return frozenset({DictOf(tuple(entries))})

    def _find_test(self, node: nodes.Test, names: _Scope) -> Kinds:
        # A name that is tested with `is defined` may be missing.
        if node.name not in ("defined", "undefined") or not isinstance(node.node, nodes.Name):
            self.find_kinds(node.node, names)
        for each in node.args:
            self.find_kinds(each, names)
        return frozenset({bool})


class _Walk(_Expressions):
    """Evaluates the statements of a template and of the templates that it extends."""

    def render(self) -> None:
        body = self.check.parse(self.template)
        for block in body.find_all(nodes.Block):
            self.blocks.setdefault(block.name, []).append((self, block))
        parents = [each for each in body.body if isinstance(each, nodes.Extends)]
        rest = [each for each in body.body if not isinstance(each, nodes.Extends)]
        if parents:
            # In a template that extends another, code outside of blocks counts only if it sets
            # names.
            rest = [each for each in rest if not isinstance(each, nodes.Output | nodes.Block)]
        self.visit_all(rest, self.names)
        for parent in parents:
            for template in self.list_templates(parent.template):
                _Walk(self.check, template, self.names, self.blocks).render()

    def list_templates(self, node: nodes.Expr) -> list[str]:
        """Return the names that an include may have if the template states them."""
        if isinstance(node, nodes.CondExpr):
            return [
                name
                for each in (node.expr1, node.expr2)
                if each is not None
                for name in self.list_templates(each)
            ]
        return [node.value] if isinstance(node, nodes.Const) else []

    def visit_all(self, body: Iterable[nodes.Node], names: _Scope) -> None:
        for each in body:
            self.visit(each, names)

    def visit(self, node: nodes.Node, names: _Scope) -> None:
        handler = getattr(self, f"_visit_{type(node).__name__.lower()}", None)
        if handler is not None:
            handler(node, names)
        elif isinstance(node, nodes.Expr):
            self.find_kinds(node, names)
        else:
            self.visit_all(node.iter_child_nodes(), names)

    def _visit_for(self, node: nodes.For, names: _Scope) -> None:
        inner = _Scope({"loop": frozenset({LoopContext})}, names)
        self.bind(node.target, list_items(self.find_kinds(node.iter, names)), inner)
        if node.test is not None:
            self.find_kinds(node.test, inner)
        self.visit_all(node.body, inner)
        self.visit_all(node.else_, names)

    def _visit_with(self, node: nodes.With, names: _Scope) -> None:
        inner = _Scope({}, names)
        for target, value in zip(node.targets, node.values, strict=True):
            self.bind(target, self.find_kinds(value, names), inner)
        self.visit_all(node.body, inner)

    def _visit_assign(self, node: nodes.Assign, names: _Scope) -> None:
        self.bind(node.target, self.find_kinds(node.node, names), names)

    def _visit_assignblock(self, node: nodes.AssignBlock, names: _Scope) -> None:
        self.visit_all(node.body, _Scope({}, names))
        self.bind(node.target, frozenset({str}), names)

    def bind(self, target: nodes.Node, kinds: Kinds, names: _Scope) -> None:
        if isinstance(target, nodes.Name):
            names.add(target.name, kinds)
        elif isinstance(target, nodes.Tuple):
            for place, each in enumerate(target.items):
                self.bind(each, list_at(kinds, place), names)

    def _visit_macro(self, node: nodes.Macro, names: _Scope) -> None:
        names.names[node.name] = frozenset({_Macro(node, self.template, names)})

    def _visit_callblock(self, node: nodes.CallBlock, names: _Scope) -> None:
        caller = frozenset({_Macro(node, self.template, names)})
        self.call(node.call, names, caller)

    def _visit_fromimport(self, node: nodes.FromImport, names: _Scope) -> None:
        for template in self.list_templates(node.template):
            context = self.names if node.with_context else None
            found = self.check.import_names(template, context)
            for each in node.names:
                name, alias = each if isinstance(each, tuple) else (each, each)
                if name in found.names:
                    names.names[alias] = found.names[name]
                else:
                    self.report(node, f"{template} defines no {name}")

    def _visit_include(self, node: nodes.Include, names: _Scope) -> None:
        for template in self.list_templates(node.template):
            _Walk(self.check, template, _Scope({}, names), {}).render()

    def _visit_block(self, node: nodes.Block, names: _Scope) -> None:
        del names
        self.show_block(node.name, 0)

    def show_block(self, name: str, place: int) -> None:
        if place < len(self.blocks.get(name, [])):
            walk, block = self.blocks[name][place]
            above = frozenset({Function(functools.partial(self.show_block, name, place + 1))})
            walk.visit_all(block.body, _Scope({"super": above}, walk.names))
