"""Fixtures that start real servers."""

from tests.servers.dovecot import dovecot
from tests.servers.postfix import postfix
from tests.servers.sms_world import an_sms_process, kannel
from tests.servers.sshd import sshd
from tests.usecases.conftest import dunwell

__all__ = ["an_sms_process", "dovecot", "dunwell", "kannel", "postfix", "sshd"]
