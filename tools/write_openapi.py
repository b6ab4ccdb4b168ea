"""Write docs/openapi.json, the committed copy of the document at /api/openapi.json."""

from pathlib import Path

from dunwell.interfaces.api.reference.routes import encode_document

TARGET = Path(__file__).parents[1] / "docs" / "openapi.json"


def main() -> None:
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(encode_document())
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
