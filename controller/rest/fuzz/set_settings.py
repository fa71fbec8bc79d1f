# SPDX-License-Identifier: Apache-2.0
"""Sets and reads every setting of every system through a client that schemathesis makes of the OpenAPI document.

    set_settings.py URL TOKEN

URL is that of the document. Each operation is called by its path in the document, and each response is validated against it.
Every place of a setting is set to another value, read, and set back. What `DELETE` removes is added first. Fails for an
operation that changes something and is not called.
"""

import sys
import time

import schemathesis

PATIENCE_S = 120
# What makes a value of a type that has no other one by itself.
SESSION = {"source": "ucsd-0", "sink": "uva-0", "wanted_bps": 1_000_000}
RULES = [{"port": 1, "dscp": 46, "class": "reserved", "rate_bps": 900_000}]
SCHEDULER = "islip"


class Client:
    """Operations of a document, by method and path."""

    def __init__(self, url: str, token: str) -> None:
        self._schema = schemathesis.openapi.from_url(
            url, headers={"Authorization": f"Bearer {token}"}, wait_for_schema=PATIENCE_S
        )
        self._headers = {"Authorization": f"Bearer {token}"}
        self.document = self._schema.raw_schema
        self.called = set()

    def call(self, method: str, path: str, place: dict | None = None, body: object = None) -> object:
        """Calls an operation; returns the JSON value of its response, which is as described."""
        arguments = {} if body is None else {"body": body, "media_type": "application/json"}
        case = self._schema[path][method].Case(path_parameters=place or {}, headers=self._headers, **arguments)
        response = case.call()
        assert response.status_code < 300, f"{method} {path} {place} {body}: {response.status_code} {response.text}"
        case.validate_response(response)
        self.called.add((method, path))
        return response.json() if "json" in response.headers.get("content-type", [""])[0] else None

    def schema(self, reference: dict) -> dict:
        """Schema that a reference leads to; itself if it is none."""
        while "$ref" in reference:
            reference = self.document["components"]["schemas"][reference["$ref"].rpartition("/")[2]] | {
                key: value for key, value in reference.items() if key != "$ref"
            }
        return reference


def another(client: Client, schema: dict, value: object) -> object:
    """Another value that a schema allows."""
    schema = client.schema(schema)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema["maximum"]
        if schema["type"] == "integer":
            return value + 1 if value < high else value - 1
        return (value + high) / 2 if value < high else (value + low) / 2
    if "enum" in schema:
        return next(one for one in schema["enum"] if one != value)
    raise AssertionError(f"no other value than {value!r} of {schema}")


def body_of(client: Client, operation: dict) -> dict:
    """Schema of an operation's body."""
    return client.schema(operation["requestBody"]["content"]["application/json"]["schema"])


def change(client: Client, path: str, operation: dict, place: dict, now: dict) -> None:
    """Sets a value, reads it, and sets it back."""
    fields = body_of(client, operation)["properties"]
    before = {field: now[field] for field in fields}
    if set(fields) == {"name", "settings"}:
        after = {"name": SCHEDULER}
    elif set(fields) == {"classes"}:
        after = {"classes": RULES if before["classes"] != RULES else []}
    else:
        after = {field: another(client, schema, before[field]) for field, schema in fields.items()}
    for value in (after, before):
        answer = client.call("PUT", path, place, value)
        assert {field: answer[field] for field in value} == value, (path, answer)
        deadline = time.monotonic() + PATIENCE_S
        while {field: client.call("GET", path, place)[field] for field in value} != value:
            assert time.monotonic() < deadline, (path, place, value)


def main() -> None:
    """Changes all that can be changed; prints how much that is."""
    client = Client(sys.argv[1], sys.argv[2])
    places = 0
    paths = client.document["paths"]
    for path, methods in paths.items():
        if set(methods) == {"get"} and "{" not in path:
            client.call("GET", path)
    for path, methods in paths.items():
        if "put" not in methods:
            continue
        names = [parameter["name"] for parameter in methods.get("parameters", [])]
        if not names:
            change(client, path, methods["put"], {}, client.call("GET", path))
            places += 1
        elif "delete" in methods:
            place = {names[0]: "film"}
            client.call("PUT", path, place, SESSION)
            now = client.call("GET", path, place)
            assert now | SESSION == now, now
            client.call("DELETE", path, place)
            places += 1
        else:
            (entries,) = client.call("GET", path.partition("/{")[0]).values()
            assert entries, f"{path}: nothing to change in this network"
            for entry in entries:
                change(client, path, methods["put"], {name: entry[name] for name in names}, entry)
                places += 1
    changing = {
        (verb.upper(), path) for path, methods in paths.items() for verb in methods if verb in ("put", "delete")
    }
    assert changing <= client.called, changing - client.called
    print(
        f"{len(changing)} operations changed {places} values; {len(client.called)} operations called, each response as described"
    )


if __name__ == "__main__":
    main()
