"""What a signed-in user may do: at a merchant, or at things that belong to no merchant."""

from dataclasses import dataclass

from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.user import SignedInUser


@dataclass(frozen=True, slots=True)
class MerchantAccess:
    """The access of one user to one merchant."""

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
        """True for the merchant's own staff. The audit log records which claims they open."""
        return self.person.global_role is None
