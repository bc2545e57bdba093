"""The service does what its OpenAPI document says: more examples, and calls that use what earlier ones answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.service.fuzzing import schema

if TYPE_CHECKING:
    import httpx2
    import schemathesis

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
COMMON: dict[str, Any] = {
    "derandomize": True,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "database": None,
}


@schema.parametrize()
@settings(max_examples=100, **COMMON)
def test_many_requests(case: schemathesis.Case, client: httpx2.Client) -> None:
    case.call_and_validate(base_url=str(client.base_url))


def test_calls_that_follow_one_another(client: httpx2.Client) -> None:
    class Calls(schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: schemathesis.Case) -> dict[str, Any]:
            return {"base_url": str(client.base_url)}

    Calls.run(settings=settings(max_examples=60, stateful_step_count=8, **COMMON))
