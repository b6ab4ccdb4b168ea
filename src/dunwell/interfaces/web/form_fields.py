"""The fields that a browser sent with a form. Pure."""

from collections.abc import Iterator, Mapping


class FormFields(Mapping[str, str]):
    """The fields of a form by name. A missing field is "", and a repeated one is its last value."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._values.get(name, [""])[-1]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def text(self, name: str) -> str:
        """Return the value without surrounding white space and with plain line ends."""
        return self[name].replace("\r\n", "\n").strip()

    def all(self, name: str) -> list[str]:
        """Return all values of a repeated field."""
        return self._values.get(name, [])
