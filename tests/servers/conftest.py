"""Fixtures that start real servers."""

from tests.servers.dovecot import dovecot
from tests.servers.postfix import postfix
from tests.servers.sms_world import kannel, sms_harness
from tests.servers.sshd import sshd
from tests.usecases.conftest import dunwell

__all__ = ["dovecot", "dunwell", "kannel", "postfix", "sms_harness", "sshd"]
