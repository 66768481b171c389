"""What the errors say about themselves."""

from __future__ import annotations

import pytest

from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    AuthenticationError,
    BlockedError,
    DeepCriticalError,
    ProviderUnavailableError,
    QuotaExceededError,
)

NO_KEY = AuthenticationError("brave", "Check BRAVE_API_KEY.")
USED_UP = QuotaExceededError("tavily", "The plan's quota is used up.")


@pytest.mark.parametrize(
    ("causes", "worth_another_try"),
    [
        ([NO_KEY, USED_UP], False),
        ([NO_KEY, ProviderUnavailableError("duckduckgo", "Unavailable.")], True),
        ([BlockedError("duckduckgo", "Blocked as automated traffic.")], True),
    ],
)
def test_when_all_have_failed_another_try_is_worth_it_if_one_of_them_may_recover(
    causes: list[DeepCriticalError], worth_another_try: bool
) -> None:
    assert AllProvidersFailedError("No provider could answer.", causes).retryable is worth_another_try
