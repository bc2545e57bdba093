"""The OpenAPI document as schemathesis reads it: all its checks but one, of everything but the stream of events."""

from __future__ import annotations

import schemathesis

from service.app import create_app
from service.settings import Settings

# Valid requests are refused for what a schema cannot say, such as arrays that do not exist.
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "410", "422", "429"]

config = schemathesis.Config.from_dict(
    {
        "checks": {
            "positive_data_acceptance": {"expected-statuses": ACCEPTED},
            # A cancelled job stays readable.
            "use_after_free": {"enabled": False},
        }
    }
)
schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi(), config=config).exclude(path_regex="/events$")
