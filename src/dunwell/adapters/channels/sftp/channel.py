"""The line `sftp`: letters into a folder on a print service's server."""

from collections.abc import Mapping

from dunwell.accounts.installation.delivery_providers import SftpLine
from dunwell.adapters.channels.print_service.channel import PrintServiceChannel
from dunwell.adapters.channels.sftp.depot import SftpDepot
from dunwell.contact.sending.channel import LineUnusable
from dunwell.platform.resources import Resources


def open_depot(name: str, line: SftpLine, secrets: Mapping[str, bytes]) -> SftpDepot:
    """Nothing is connected to. Raises LineUnusable for keys that cannot be read."""
    try:
        return SftpDepot(
            line,
            password=secrets.get(f"lines/{name}/passwordFile"),
            key=secrets.get(f"lines/{name}/keyFile"),
        )
    except ValueError as error:
        raise LineUnusable(str(error)) from error


class SftpChannel(PrintServiceChannel):
    def __init__(
        self, name: str, line: SftpLine, secrets: Mapping[str, bytes], resources: Resources
    ) -> None:
        """secrets: by their names in the installation. Raises LineUnusable."""
        depot = open_depot(name, line, secrets)
        super().__init__(name, line, depot, resources)
