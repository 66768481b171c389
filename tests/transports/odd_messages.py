"""Messages as broken or hostile clients send them, each with the id that its answer has."""

PING = '{"jsonrpc": "2.0", "id": 5, "method": "ping"}'
CALL = (
    '{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "list_sessions", "arguments": {"a": %s}}}'
)
DEEP = (
    '{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "list_evidence", "arguments": {"a": %s}}, "id": 5}'
)
ODD_MESSAGES: dict[str, tuple[str | bytes, object]] = {
    "a byte order mark": (b"\xef\xbb\xbf" + PING.encode(), 5),
    "nested 150 deep": (CALL % f"{'[' * 150}{']' * 150}", 5),
    "nested 250 deep": (CALL % f"{'[' * 250}{']' * 250}", 5),
    "nested 250 deep, objects": (CALL % ('{"a":' * 250 + "1" + "}" * 250), 5),
    "nested 5,000 deep": (CALL % f"{'[' * 5_000}{']' * 5_000}", 5),
    "nested 100,000 deep": (CALL % f"{'[' * 100_000}{']' * 100_000}", 5),
    "nested 100,000 deep, id at the end": (DEEP % f"{'[' * 100_000}{']' * 100_000}", 5),
    "too long": (CALL % f'"{"x" * 9_000_000}"', 5),
    "too long, id at the end": (DEEP % f'"{"x" * 9_000_000}"', 5),
    "too long, with a byte order mark": (b"\xef\xbb\xbf" + (CALL % f'"{"x" * 9_000_000}"').encode(), 5),
    "too many values": (CALL % f"[{'[],' * 300_000}[]]", 5),
    "not a number, infinity": (CALL % "[NaN, Infinity, -Infinity, 1e999]", 5),
    "huge number": (CALL % f"1{'0' * 5_000}", 5),
    "the same key twice": ('{"jsonrpc": "2.0", "id": 4, "id": 5, "method": "ping", "method": "ping"}', 5),
    "not UTF-8": (PING.encode().replace(b"ping", b"p\xffng"), 5),
    "half a character in a name": (r'{"jsonrpc": "2.0", "id": 5, "method": "\ud83e"}', 5),
    "no such method": ('{"jsonrpc": "2.0", "id": 5, "method": "no/such"}', 5),
    "params in a list": ('{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": [1]}', 5),
    "no params": ('{"jsonrpc": "2.0", "id": 5, "method": "tools/call"}', 5),
    "params null": ('{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": null}', 5),
    "arguments in a list": (CALL.replace('{"a": %s}', "[1]"), 5),
    "no version": ('{"id": 5, "method": "ping"}', 5),
    "no method": ('{"jsonrpc": "2.0", "id": 5}', 5),
    "method a number": ('{"jsonrpc": "2.0", "id": 5, "method": 7}', 5),
    "cut off": ('{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {', 5),
    "id a text": (PING.replace("5", '"five"'), "five"),
    "id a fraction": (PING.replace("5", "1.5"), 1.5),
    "id a whole fraction": (PING.replace("5", "5.0"), 5),
    "id huge": (PING.replace("5", f"1{'0' * 100}"), 10**100),
    "id negative": (PING.replace("5", "-5"), -5),
    "id null": (PING.replace("5", "null"), None),
    "id a switch": (PING.replace("5", "true"), None),
    "id a list": (PING.replace("5", "[5]"), None),
    "id an empty text": (PING.replace("5", '""'), ""),
    "no JSON": ("this is not JSON", None),
    "a number": ("5", None),
    "an empty list": ("[]", None),
}
