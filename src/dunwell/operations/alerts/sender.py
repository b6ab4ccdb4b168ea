"""By which line alarms are told, and as whom. Pure."""

from collections.abc import Collection, Mapping

from dunwell.accounts.installation.alerts.alert_settings import Alarms
from dunwell.accounts.installation.delivery_providers import Line
from dunwell.accounts.installation.installation_file import Installation


def choose_lines(alarms: Alarms, lines: Mapping[str, Line], unwell: Collection[str]) -> list[str]:
    """Lines for e-mail, the best first: those that are well before those that alarms are about, and
    of each the one the file names first."""
    mail = [name for name, line in lines.items() if line.channel == "EMAIL"]
    return sorted(mail, key=lambda name: (name in unwell, name != alarms.line))


def find_sender(installation: Installation, recipient: str) -> str:
    """The one the file names, else the operator's contact, else whoever is told."""
    alarms, operator = installation.alarms or Alarms(), installation.operator
    return alarms.sender or (operator.contact.email if operator else recipient)
