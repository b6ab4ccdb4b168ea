"""docs/states.md matches the tables in the code."""

from tools.write_states import CLAIM, PAGE, render_diagram, render_page


def test_the_page_of_states_is_current() -> None:
    assert PAGE.read_text() == render_page(), "run: python -m tools.write_states"


def test_a_diagram_shows_transitions_in_both_directions() -> None:
    diagram = render_diagram(CLAIM)
    assert "    [*] --> CREATED\n" in diagram
    assert "    CREATED --> ARCHIVED: steps ended, archived by hand\n" in diagram
    assert "    COLLECTED --> IN_PROCESS: payment reversed\n" in diagram
    assert "ARCHIVED -->" not in diagram
