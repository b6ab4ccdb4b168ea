"""The addresses for operators and their machines: is it alive, is it ready, how is it doing."""

from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp
from prometheus_client import CONTENT_TYPE_LATEST

from dunwell.api.answer import Answer
from dunwell.api.envelope import encode_result
from dunwell.api.figures import Figures
from dunwell.api.refusing import answer_refusal
from dunwell.api.schemas.operating import Health
from dunwell.errors import Unavailable
from dunwell.kit.resources import Resources

_PROBE = "SELECT to_regclass('merchants') IS NOT NULL"


def build_operating_routes(resources: Resources, figures: Figures) -> list[HTTPRouteHandler]:
    alive = Answer(200, encode_result(Health("ok")))
    unmigrated = answer_refusal(Unavailable("The database has no tables yet. Run dunwell migrate."))

    @get("/healthz", name="healthz")
    async def tell_alive() -> ASGIApp:
        """This process answers; nothing else is asked."""
        return alive

    @get("/readyz", name="readyz")
    async def tell_ready() -> ASGIApp:
        """The database answers too, and has its tables."""
        try:
            async with resources.database.connection() as connection:
                has_tables = await connection.fetchval(_PROBE)
        except Unavailable as refusal:
            return answer_refusal(refusal)
        return alive if has_tables else unmigrated

    @get("/metrics", name="metrics")
    async def show_figures() -> ASGIApp:
        return Answer(200, figures.render(), content_type=CONTENT_TYPE_LATEST.encode())

    return [tell_alive, tell_ready, show_figures]
