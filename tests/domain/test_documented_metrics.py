"""The Prometheus metrics named in the operator's documents exist."""

import importlib
import pkgutil
import re
from pathlib import Path

import dunwell
from dunwell.platform.metrics import REGISTRY

_PAGES = Path(__file__).parents[2] / "docs" / "operator"


def test_every_metric_named_in_the_documents_exists() -> None:
    for module in pkgutil.walk_packages(dunwell.__path__, "dunwell."):
        if ".migrations." not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    shown = set()
    for metric in REGISTRY.collect():
        shown.add(f"{metric.name}_total" if metric.type == "counter" else metric.name)
    named = {
        name
        for path in sorted(_PAGES.glob("*.md"))
        for name in re.findall(r"\bdunwell_[a-z_]+", path.read_text())
    }
    assert len(named) > 20
    assert sorted(named - shown) == []
