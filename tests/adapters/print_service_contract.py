"""Tests of every print service in addition to those of a channel: its files and status files."""

from dataclasses import replace
from uuid import UUID

from dunwell.contact.sending.channel import Accepted, MessageFile, Permanent
from dunwell.contact.sending.references import parse_reference
from dunwell.platform.resources import Resources
from tests.adapters.channel_contract import ChannelContract, ChannelUnderTest
from tests.support.files import an_image
from tests.support.print_files import (
    PrintServiceUnderTest,
    a_pdf,
    list_files,
    list_letters,
    read_pdf,
    remove_all,
)

_STATES = "SELECT state, country, pages, files FROM letter_batch_items ORDER BY communication_id"


class PrintServiceContract(ChannelContract):
    async def test_attached_files_are_sent(self, channel: ChannelUnderTest) -> None:
        """The attached files follow the letter in one PDF."""
        assert isinstance(channel, PrintServiceUnderTest)
        files = (
            MessageFile("Rechnung.pdf", "application/pdf", a_pdf(pages=2)),
            MessageFile("Bild.png", "image/png", an_image("PNG")),
        )
        message = channel.a_message(attachments=files)
        assert isinstance(await channel.adapter.send(message), Accepted)
        (content,) = list_letters(channel.letter_folder).values()
        assert read_pdf(content)[1] == 4
        assert [name[-4:] for name in list_files(channel.letter_folder)] == [".pdf"]

    async def test_a_file_that_is_neither_pdf_nor_picture_is_a_permanent_failure(
        self, channel: ChannelUnderTest
    ) -> None:
        broken = MessageFile("x.pdf", "application/pdf", b"%PDF-1.7 \x00\xff")
        outcome = await channel.adapter.send(channel.a_message(attachments=(broken,)))
        assert isinstance(outcome, Permanent)
        assert channel.received() == []

    async def test_too_many_pages_are_a_permanent_failure_with_their_number(
        self, channel: ChannelUnderTest, resources: Resources
    ) -> None:
        many = MessageFile("x.pdf", "application/pdf", a_pdf(pages=20))
        outcome = await channel.adapter.send(channel.a_message(attachments=(many,)))
        assert outcome == Permanent("It has 21 pages; the maximum of this delivery provider is 20.")
        few = replace(many, content=a_pdf(pages=19))
        outcome = await channel.adapter.send(channel.a_message(attachments=(few,)))
        assert isinstance(outcome, Accepted)

    async def test_a_letter_is_found_by_its_reference(
        self, channel: ChannelUnderTest, resources: Resources
    ) -> None:
        assert isinstance(channel, PrintServiceUnderTest)
        message = channel.a_message(country="AT")
        outcome = await channel.adapter.send(message)
        (name,) = list_letters(channel.letter_folder)
        assert outcome == Accepted(name.removesuffix(".pdf"))
        named = parse_reference(resources.keys, name.removesuffix(".pdf"))
        assert named is not None
        assert named.communication_id == message.communication_id
        async with resources.database.connection() as connection:
            (row,) = await connection.fetch(_STATES)
        assert (row["state"], row["country"], row["pages"]) == ("WAITING", "AT", 1)
        assert [each["name"] for each in row["files"]] == [name]

    async def test_the_outcomes_of_letters_match_the_files(
        self, channel: ChannelUnderTest, resources: Resources
    ) -> None:
        """The letters were handed over, interrupted before and after their name was written, and
        never sent."""
        assert isinstance(channel, PrintServiceUnderTest)
        sent, before, behind, never = (UUID(int=(7 << 76) + (2 << 62) + n) for n in range(4))
        for each in (sent, before, behind):
            await channel.adapter.send(channel.a_message(communication_id=each))
        async with resources.database.transaction() as tx:
            await tx.execute(
                "UPDATE letter_batch_items SET state = 'UPLOADING' WHERE communication_id <> $1",
                sent,
            )
            name = await tx.fetchval(
                "SELECT files -> 0 ->> 'name' FROM letter_batch_items WHERE communication_id = $1",
                before,
            )
        (channel.letter_folder / name).unlink()
        became = await channel.adapter.look_up_outcomes([sent, before, behind, never])  # type: ignore[attr-defined]
        assert became == {sent: True, before: False, behind: True}
        async with resources.database.connection() as connection:
            states = [row["state"] for row in await connection.fetch(_STATES)]
        assert states == ["WAITING", "WAITING"]

    async def test_a_letter_in_a_manifest_is_not_written_again(
        self, channel: ChannelUnderTest, resources: Resources
    ) -> None:
        """The service has printed the letter and removed its file."""
        assert isinstance(channel, PrintServiceUnderTest)
        message = channel.a_message()
        await channel.adapter.send(message)
        async with resources.database.transaction() as tx:
            await tx.execute("UPDATE letter_batch_items SET state = 'TAKEN_BACK'")
        remove_all(channel.letter_folder)
        assert isinstance(await channel.adapter.send(message), Accepted)
        assert list_files(channel.letter_folder) == []
