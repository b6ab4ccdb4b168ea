"""The addresses for operators and their machines: is it alive, is it ready, how is it doing."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dunwell.api.answer import answer_refusal, answer_result
from dunwell.api.figures import Figures
from dunwell.api.schemas.operating import Health
from dunwell.errors import Unavailable
from dunwell.kit.resources import Resources

_PROBE = "SELECT to_regclass('merchants') IS NOT NULL"


def build_operating_routes(resources: Resources, figures: Figures) -> list[Route]:
    # This process answers; nothing else is asked.
    alive = answer_result(Health("ok"))

    async def tell_ready(_request: Request) -> Response:
        """The database answers too, and has its tables."""
        try:
            async with resources.database.connection() as connection:
                has_tables = await connection.fetchval(_PROBE)
        except Unavailable as refusal:
            return answer_refusal(refusal)
        if not has_tables:
            return answer_refusal(
                Unavailable("The database has no tables yet. Run dunwell migrate.")
            )
        return alive

    async def show_figures(_request: Request) -> Response:
        return Response(figures.render(), media_type=CONTENT_TYPE_LATEST)

    return [
        Route("/healthz", alive, methods=["GET"]),
        Route("/readyz", tell_ready),
        Route("/metrics", show_figures),
    ]
