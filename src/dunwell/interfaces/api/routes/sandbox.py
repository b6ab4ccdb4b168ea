"""Read and advance the test clock of a sandbox merchant."""

from collections.abc import Iterator

from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    RequestBody,
)
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.routes.parameters import MERCHANT_ID
from dunwell.interfaces.api.routes.payments import list_instant_faults, parse_body_instant
from dunwell.interfaces.api.schemas.workflows import TestClock, TestClockAdvance, TestClockAdvanced
from dunwell.operations.sandbox.advance_clock import advance_clock, check_sandbox
from dunwell.platform.errors import Fault, InvalidRequest, InvalidState, ValidationError
from dunwell.platform.text.wire import render_instant

READ_TEST_CLOCK = Operation(
    operation_id="readTestClock",
    method="GET",
    path="/merchants/{merchant_id}/test-clock",
    tag="Sandbox",
    summary="Read the test clock",
    description=(
        "A sandbox merchant has its own test clock, which stands still until it is advanced. "
        "For other merchants the response is InvalidState."
    ),
    parameters=(MERCHANT_ID,),
    result=TestClock,
    example={"now": "2026-03-02T09:00:00.000Z"},
    refusals=(InvalidState,),
    is_addition=True,
)

ADVANCE_TEST_CLOCK = Operation(
    operation_id="advanceTestClock",
    right=Right.OPERATE,
    method="POST",
    path="/merchants/{merchant_id}/test-clock",
    tag="Sandbox",
    summary="Advance the test clock",
    description=(
        "Advances the test clock and runs everything that becomes due, in the order in which "
        "real time would run it. The response is sent when all messages are sent; webhooks "
        "follow."
    ),
    parameters=(MERCHANT_ID,),
    body=RequestBody(
        media_type="application/json",
        shape=TestClockAdvance,
        example={"advanceTo": "2026-03-24T09:00:00Z"},
    ),
    result=TestClockAdvanced,
    example={"now": "2026-03-24T09:00:00.000Z", "stepsRun": 4, "eventsRaised": 4},
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)


async def _read(call: ApiCall) -> TestClock:
    call.query.check()
    return TestClock(render_instant(check_sandbox(call.merchant)))


async def _advance(call: ApiCall) -> TestClockAdvanced:
    call.query.check()
    submitted = parse_body(call.body, TestClockAdvance, _list_advance_faults)
    advance_to = parse_body_instant(submitted.advance_to, "/advanceTo")
    advanced = await advance_clock(
        call.services.resources,
        call.services.channels,
        call.merchant,
        call.actor,
        advance_to=advance_to,
    )
    return TestClockAdvanced(
        render_instant(advanced.now), advanced.steps_run, advanced.events_raised
    )


def _list_advance_faults(submitted: TestClockAdvance) -> Iterator[Fault]:
    yield from list_instant_faults(submitted.advance_to, "/advanceTo")


ENDPOINTS = (
    ApiEndpoint(READ_TEST_CLOCK, _read, DatabaseScope.OWN),
    ApiEndpoint(ADVANCE_TEST_CLOCK, _advance, DatabaseScope.OWN),
)
