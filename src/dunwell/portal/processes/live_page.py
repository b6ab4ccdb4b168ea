"""Pages that are asked for again and again while somebody waits: with an ETag, by which what has
not changed is not sent again."""

from starlette.responses import Response

from dunwell.kit.crypto import sha256
from dunwell.portal.web.visit import Visit


def answer_live(visit: Visit, answer: Response) -> Response:
    etag = f'"{sha256(bytes(answer.body)).hex()[:32]}"'
    if visit.headers.get("if-none-match") == etag:
        return Response(None, 304, {"ETag": etag})
    answer.headers["ETag"] = etag
    return answer
