"""What somebody who is signed in may do where: at a merchant, or at what belongs to none."""

from dataclasses import dataclass

from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.user import SignedInUser


@dataclass(frozen=True, slots=True)
class MerchantAccess:
    """One person's access to one merchant."""

    person: SignedInUser
    merchant: Merchant

    @property
    def merchant_id(self) -> int:
        return self.merchant.merchant_id

    @property
    def actor(self) -> Actor:
        return self.person.actor_at(self.merchant_id)

    def may(self, right: Right) -> bool:
        return right in self.person.rights_at(self.merchant_id)

    @property
    def is_outsider(self) -> bool:
        """A merchant's own staff, whose looks at claims are kept in the audit log."""
        return self.person.global_role is None
