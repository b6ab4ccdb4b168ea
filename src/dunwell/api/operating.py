"""The addresses for operators and their machines: is it alive, is it ready, how is it doing.

Health stands beside the other interfaces too; in production figures stand at the operators' address
alone, which the web process and the worker have each.
"""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dunwell.api.answer import answer_refusal, answer_result
from dunwell.api.figures import Figures
from dunwell.api.readiness import Readiness
from dunwell.api.schemas.operating import Health
from dunwell.errors import Unavailable
from dunwell.kit.resources import Resources

HEALTH_PATHS = frozenset(("/healthz", "/readyz"))


def build_health_routes(resources: Resources) -> list[Route]:
    # This process answers; nothing else is asked.
    alive = answer_result(Health("ok"))
    readiness = Readiness(resources.database)

    async def tell_ready(_request: Request) -> Response:
        try:
            await readiness.check()
        except Unavailable as refusal:
            return answer_refusal(refusal)
        return alive

    return [Route("/healthz", alive, methods=["GET"]), Route("/readyz", tell_ready)]


def build_figures_route(figures: Figures) -> Route:
    async def show_figures(_request: Request) -> Response:
        return Response(figures.render(), media_type=CONTENT_TYPE_LATEST)

    return Route("/metrics", show_figures)
