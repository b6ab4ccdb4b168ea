"""A version of a workflow as a file that is taken back as it is: YAML or JSON."""

import re

import msgspec
from starlette.responses import Response

from dunwell.cases.rollout.look_at_workflows import LookedAtWorkflow
from dunwell.cases.rollout.read_workflows import LookedAtVersion
from dunwell.core.files.upload import render_disposition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.document import render_document
from dunwell.platform.text.yaml_document import render_yaml

_NO_NAME = re.compile(r"[^\w.-]+")
_HEAD = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


def render_file(
    workflow: LookedAtWorkflow, version: LookedAtVersion, form: str, content_type: str
) -> Response:
    text = render_text(version.definition, form)
    name = _NO_NAME.sub("-", f"{workflow.name}-{version.row.name}").strip("-")
    head = {
        "Content-Type": f"{content_type}; charset=utf-8",
        "Content-Disposition": render_disposition(f"{name}.{form}"),
        **_HEAD,
    }
    return Response(text.encode(), 200, head)


def render_text(definition: Definition, form: str = "yaml") -> str:
    document = render_document(definition)
    if form == "yaml":
        return render_yaml(document)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
