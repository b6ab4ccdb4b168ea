"""Write docs/states.md: the states of claims, disputes, payment modalities and payment requests,
from the tables in the code that decide them. A test compares the file with the generated text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from dunwell.cases.disputes import dispute
from dunwell.cases.disputes.dispute import DisputeState
from dunwell.cases.modalities import modality
from dunwell.cases.modalities.modality import ModalityState
from dunwell.cases.payments.provider import CheckoutStatus
from dunwell.cases.payments.requests import request_states
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.core.claims import states as claims
from dunwell.core.claims.states import ClaimTransition, Status

_State = TypeVar("_State", bound=StrEnum)
PAGE = Path(__file__).parents[1] / "docs" / "states.md"
_HEAD = """# States

Written by `python -m tools.write_states` from the tables in the code; do not change it by hand.
In the table below each diagram, a row is the current state, a column is an event, and a cell is the
next state."""


@dataclass(frozen=True, slots=True)
class ObjectStates:
    """The states of one kind of object, the initial one first."""

    title: str
    source: str
    states: Sequence[StrEnum]
    # The event -> the state before -> the state after.
    transitions: Mapping[str, Mapping[StrEnum, StrEnum]]
    # The text of a cell for which the table has no entry.
    otherwise: str
    words: str
    # Transitions that are not in the table: before, after, event.
    other_transitions: Sequence[tuple[StrEnum, StrEnum, str]] = ()


def _spell(name: str) -> str:
    return name.replace("_", " ").lower()


def _list_transitions(
    next_states: Mapping[_State, frozenset[_State]],
) -> Mapping[str, Mapping[StrEnum, StrEnum]]:
    """Return the transitions of a table that lists the possible next states of each state. A
    transition to the same state changes nothing."""
    _, *ends = next_states
    return {
        _spell(end): {state: end for state, after in next_states.items() if end in {*after, state}}
        for end in ends
    }


CLAIM = ObjectStates(
    title="Claims",
    source="core/claims/states.py",
    states=list(Status),
    transitions={
        _spell(event): {
            before: after for (before, each), after in claims.TRANSITIONS.items() if each is event
        }
        for event in ClaimTransition
    },
    otherwise="refused",
    words="A payment is always recorded. If the claim is archived or withdrawn, only the balance"
    " changes. If a reversed payment leaves a collected claim with an outstanding amount, the claim"
    " returns to its previous state. Holds (a dispute, a pause, a payment in progress) stop the"
    " workflow, but are not states.",
    other_transitions=[
        (after, before, "payment reversed")
        for (before, event), after in claims.TRANSITIONS.items()
        if event is ClaimTransition.PAID_IN_FULL and after is not before
    ],
)
DISPUTE = ObjectStates(
    title="Disputes",
    source="cases/disputes/dispute.py",
    states=list(DisputeState),
    transitions=_list_transitions(dispute.TRANSITIONS),
    otherwise="refused",
    words="The merchant accepts or rejects a dispute; the debtor withdraws it.",
)
MODALITY = ObjectStates(
    title="Payment modalities",
    source="cases/modalities/modality.py",
    states=list(ModalityState),
    transitions=_list_transitions(modality.TRANSITIONS),
    otherwise="refused",
    words="Only the merchant's response changes the state. `endedReason` says how a modality ended;"
    " after its end it cannot be approved or rejected.",
)
REQUEST = ObjectStates(
    title="Payment requests",
    source="cases/payments/requests/request_states.py",
    states=list(PaymentRequestState),
    transitions={
        _spell(answer): {
            before: after
            for (before, each), after in request_states.TRANSITIONS.items()
            if each is answer
        }
        for answer in CheckoutStatus
    },
    otherwise="stays",
    words="The events are the provider's answers. CREATED, OPEN and PENDING requests are active;"
    " a request whose checkout is not used for 24 hours expires. Money that arrives after a"
    " request has ended is recorded nevertheless: only COMPLETED is final. A bank transfer that the"
    " debtor has reported starts as PENDING and has no provider. It becomes COMPLETED when the"
    " payment is recorded, and EXPIRED when the waiting period is over. A request for an instalment"
    " that the provider collects by direct debit starts as COLLECTING.",
    other_transitions=[
        (PaymentRequestState.CREATED, PaymentRequestState.OPEN, "debtor redirected")
    ],
)


def render_page() -> str:
    sections = [
        _render_section(object_states) for object_states in (CLAIM, DISPUTE, MODALITY, REQUEST)
    ]
    return "\n\n".join([_HEAD, *sections]) + "\n"


def render_diagram(object_states: ObjectStates) -> str:
    """Return the diagram, without transitions to the same state. Several events between the same
    two states share an arrow."""
    arrows: dict[tuple[StrEnum, StrEnum], list[str]] = {}
    for before, after, event in _list_arrows(object_states):
        arrows.setdefault((before, after), []).append(event)
    lines = [
        f"    {before} --> {after}: {', '.join(events)}"
        for (before, after), events in arrows.items()
    ]
    return "\n".join(
        ["```mermaid", "stateDiagram-v2", f"    [*] --> {object_states.states[0]}", *lines, "```"]
    )


def _list_arrows(object_states: ObjectStates) -> Iterator[tuple[StrEnum, StrEnum, str]]:
    for event, transitions in object_states.transitions.items():
        for before, after in transitions.items():
            if before is not after:
                yield before, after, event
    yield from object_states.other_transitions


def _render_section(object_states: ObjectStates) -> str:
    heads = ["", *object_states.transitions]
    rows = [
        [
            str(before),
            *(
                _describe_next_state(object_states, before, event)
                for event in object_states.transitions
            ),
        ]
        for before in object_states.states
    ]
    lines = [heads, ["---"] * len(heads), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    title = f"## {object_states.title}"
    source = f"`src/dunwell/{object_states.source}`"
    return "\n\n".join([title, object_states.words, source, render_diagram(object_states), table])


def _describe_next_state(object_states: ObjectStates, before: StrEnum, event: str) -> str:
    after = object_states.transitions[event].get(before)
    if after is None:
        return object_states.otherwise
    return "stays" if after is before else str(after)


def main() -> None:
    PAGE.write_text(render_page())
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
