"""Which of the official conformance suite's server scenarios this server is asked, and why not the others.

Every scenario that the suite lists for a protocol version stands in `ASKED` or in `LEFT_OUT`; a new one fails the run
until somebody has decided.
"""

from collections.abc import Mapping

VERSIONS = ("2025-11-25", "2026-07-28")

ASKED = frozenset(
    {
        "server-initialize",
        "server-session-lifecycle",
        "server-stateless",
        "ping",
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "sep-2164-resource-not-found",
        "prompts-list",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "input-required-result-unsupported-methods",
    }
)

# Checks of an asked scenario that need one of the suite's own fixtures.
UNANSWERABLE: Mapping[str, str] = {
    "sep-2575-server-rejects-undeclared-capability": "needs the tool test_missing_capability; none of ours asks the "
    "client for anything",
    "sep-2575-missing-capability-http-400": "needs the tool test_missing_capability",
}

_TOOL = "calls a tool of the suite's example server; ours has other tools"
_RESOURCE = "reads a resource of the suite's example server; ours belong to sessions"
_PROMPT = "gets a prompt of the suite's example server; ours are others"
_ASKS_CLIENT = "needs a tool that asks the client for input; ours ask for nothing"

LEFT_OUT: Mapping[str, str] = {
    "tools-call-simple-text": _TOOL,
    "tools-call-image": _TOOL,
    "tools-call-audio": _TOOL,
    "tools-call-embedded-resource": _TOOL,
    "tools-call-mixed-content": _TOOL,
    "tools-call-error": _TOOL,
    "tools-call-with-logging": f"{_TOOL}; logging to the client is deprecated and not offered",
    "tools-call-with-progress": f"{_TOOL}; our progress has its own tests",
    "tools-call-sampling": _ASKS_CLIENT,
    "tools-call-elicitation": _ASKS_CLIENT,
    "json-schema-2020-12": f"{_TOOL}; our schemas use no $ref on purpose",
    "elicitation-sep1034-defaults": _ASKS_CLIENT,
    "elicitation-sep1330-enums": _ASKS_CLIENT,
    "server-sse-polling": f"{_TOOL}; answers are not kept for clients that come back (no event store)",
    "resources-read-text": _RESOURCE,
    "resources-read-binary": _RESOURCE,
    "resources-templates-read": _RESOURCE,
    "resources-subscribe": "subscriptions to resources are not offered",
    "resources-unsubscribe": "subscriptions to resources are not offered",
    "prompts-get-simple": _PROMPT,
    "completion-complete": "completes a prompt of the suite's example server; an unknown one is an error here",
    "prompts-get-with-args": _PROMPT,
    "prompts-get-embedded-resource": _PROMPT,
    "prompts-get-with-image": _PROMPT,
    "logging-set-level": "logging to the client is deprecated and not offered",
    "http-custom-header-server-validation": "needs a tool whose parameters are repeated in headers; ours are not",
    "input-required-result-basic-elicitation": _ASKS_CLIENT,
    "input-required-result-basic-sampling": _ASKS_CLIENT,
    "input-required-result-basic-list-roots": _ASKS_CLIENT,
    "input-required-result-request-state": _ASKS_CLIENT,
    "input-required-result-multiple-input-requests": _ASKS_CLIENT,
    "input-required-result-multi-round": _ASKS_CLIENT,
    "input-required-result-missing-input-response": _ASKS_CLIENT,
    "input-required-result-non-tool-request": _ASKS_CLIENT,
    "input-required-result-result-type": _ASKS_CLIENT,
    "input-required-result-tampered-state": _ASKS_CLIENT,
    "input-required-result-capability-check": _ASKS_CLIENT,
    "input-required-result-validate-input": _ASKS_CLIENT,
    "input-required-result-ignore-extra-params": f"{_ASKS_CLIENT}; without it a pass says nothing",
}
