"""Write the OpenAPI document that the repository keeps; run by ``make openapi``, and whenever its test asks for it."""

from __future__ import annotations

import json
from pathlib import Path

from service.app import create_app
from service.settings import Settings

TARGET = Path(__file__).resolve().parent / "docs" / "openapi.json"


def text() -> str:
    """The document of the service as it is now, in the form of the file."""
    return json.dumps(create_app(Settings()).openapi(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(f"wrote {TARGET}")
