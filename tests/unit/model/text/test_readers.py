"""Every function that reads a user's text is registered, so that the law of linear time holds for it."""

import ast
import importlib
import re

import pytest
from tests.text_readers import SOURCE, functions_that_read, modules, reachable

from moorage.model.text.readers import READERS

_ONE_PASS = "one split or search, and nothing is read again"
_BASE64 = "decoded by C in one pass"
_OWN = "text of our own"
_OPERATOR = "the operator's flag or file"
#: Functions that read a text and are not registered, and why not.
_ALLOWED = {
    "admit/extension/policies/environment.py": {"_texts": _OWN},
    "admit/extension/policies/mutating/completing.py": {"_as_converter": _ONE_PASS},
    "admit/extension/policies/mutating/touched_fields.py": {"_steps": _ONE_PASS},
    "admit/kinds/api_server/certificates.py": {"decoded": _BASE64},
    "admit/kinds/api_server/custom_objects.py": {"_nested": _ONE_PASS},
    "admit/prepare/service_allocator.py": {"ServiceAllocator._check": "an address that has been validated"},
    "client/http_wire.py": {"_revision": "twenty characters at most"},
    "control/account_tokens.py": {"_encoded": _OWN},
    "control/certificates.py": {"_expiry": _BASE64},
    "control/volumes/provisioning.py": {"_driver": "63 characters at most"},
    "custom/definition/versions.py": {"validate_deprecation": _ONE_PASS},
    "custom/formats.py": {"format_check": "looks a name up"},
    "match/cel/libraries/string_format.py": {"interpolate": "charged by CEL's own cost, and by the size of its result"},
    "match/cel/libraries/strings.py": {"_split": _ONE_PASS},
    "match/cel/parse/syntax.py": {"Source.__init__": _ONE_PASS},
    "match/cel/patterns.py": {"_is_flags_only": _OWN, "_next_code_point": "four bytes at most"},
    "match/cel/types.py": {"leading_type": _OWN},
    "match/comparison.py": {"cut_error": "bounded before it is read"},
    "model/gates.py": {"parse_feature_gates": _OPERATOR},
    "model/generated_names.py": {"safe_encode": "ten digits"},
    "model/text/patterns.py": {"_next_character": "four bytes at most"},
    "model/text/positions.py": {"place_json": "text that has been decoded as JSON"},
    "model/text/repeated_items.py": {
        "RepeatedItems.find": _ONE_PASS,
        "RepeatedItems.learn": _ONE_PASS,
        "_json_scalar": "a line, whose form is decided by the characters it begins with",
        "_json_value": "fifteen digits at most",
    },
    "model/text/yaml_text.py": {
        "YamlConstructor._explicitly_tagged": "Python's own words",
        "_check_depth": _ONE_PASS,
        "_syntax_error": _ONE_PASS,
    },
    "model/schema/type_rows.py": {"type_rows": _OWN},
    "run/devices/spec.py": {"parse_devices": _OPERATOR},
    "schedule/plugins/node_resources_fit.py": {"NodeResourcesFit._is_ignored": _OPERATOR},
    "serve/access/bootstrap/policy.py": {"_blocks": _OWN, "_role": _OWN},
    "serve/access/modes.py": {"read_modes": _OPERATOR},
    "serve/http/messages.py": {"Query.__init__": _ONE_PASS, "_one_line": _ONE_PASS},
    "serve/openapi/definitions.py": {"_in_words": _OWN},
    "serve/openapi/paths.py": {"_Maker.add": _OWN, "_operation_id": _OWN},
    "serve/pki/certificates.py": {"_alternative": _OPERATOR},
    "serve/resources/discovery.py": {"answer_discovery": _ONE_PASS},
    "serve/resources/served.py": {"target_of": _ONE_PASS},
    "serve/tables/columns.py": {"field": _OWN},
    "serve/tokens/claims.py": {"base64_text": _BASE64},
    "serve/tokens/keys.py": {"read_verification_keys": _OPERATOR},
    "serve/tokens/service_accounts.py": {"_content": _BASE64},
}

_TOKENS = "tokens of a document that is read whole, each decided by the characters it begins with"
_COMMAND = "of a command, on the user's own machine: manifests of bounded size, a line at a time"
#: The modules that may use Python's regular expressions, and on what.
_WITH_RE = {
    "attached/install/chart.py": _OWN,
    "cli/completion_scripts.py": _OWN,
    "cli/settings.py": _OWN,
    "client/http_wire.py": "the page of a proxy, cut to a few kilobytes",
    "dashboard/export/page.py": _OWN,
    "dashboard/questions/playing/known_nodes.py": _COMMAND,
    "dashboard/questions/playing/matching.py": _OWN,
    "dashboard/questions/playing/scalar_places.py": _COMMAND,
    "dashboard/questions/playing/yaml_cursor.py": _COMMAND,
    "dashboard/questions/policies/manifest_text.py": "the first line of a compiler's complaint",
    "demo/play.py": _OWN,
    "demo/story.py": _OWN,
    "lint/hints.py": "a hundred characters at most",
    "lint/ignores.py": _COMMAND,
    "lint/pages.py": _OWN,
    "lint/report/documents.py": _OWN,
    "lint/report/reason_shapes.py": _OWN,
    "lint/rules/attached.py": "paths of findings",
    "lint/rules/compared_values.py": "the first word of a version",
    "lint/rules/decoding.py": _COMMAND,
    "lint/rules/dropped_fields.py": _OWN,
    "match/cel/evaluate/calls.py": _OWN,
    "match/cel/parse/syntax.py": "one character",
    "match/cel/parse/tokens.py": "tokens of an expression of at most 100,000 characters",
    "match/cel/patterns.py": "RE2's own words",
    "match/cel/types.py": _OWN,
    "model/kinds.py": _OWN,
    "model/text/document_chunks.py": _TOKENS,
    "model/text/json_text.py": _TOKENS,
    "model/text/large_lists.py": _TOKENS,
    "model/text/positions.py": _TOKENS,
    "model/text/repeated_items.py": _TOKENS,
    "model/text/yaml_text.py": "a number of at most 4,000 characters",
    "plan/explain/daemon_set.py": _OWN,
    "plan/explain/remedies/change.py": _OWN,
    "plan/explain/remedies/workload/carrying_out.py": _OWN,
    "plan/input/admitted/repeated_objects.py": "names, times, addresses and identifiers, whose forms are bounded",
    "plan/input/live_gates.py": "metrics of the cluster that a command asks",
    "plan/report/grouping.py": _OWN,
    "plan/report/node_lists.py": _OWN,
    "plan/report/reasons.py": _OWN,
    "policy/cases.py": _COMMAND,
    "serve/access/guard.py": _OWN,
    "serve/openapi/definitions.py": _OWN,
    "serve/openapi/documents.py": _OWN,
    "serve/pki/credentials.py": _OPERATOR,
    "serve/tokens/keys.py": _OPERATOR,
    "serve/templates/repeated_writes.py": "times of a fixed length, and marks of our own",
    "store/etcd/watch.py": "answers of etcd",
    "store/etcd/wire/answers.py": "answers of etcd",
    "store/etcd/wire/dial.py": "answers of etcd",
}


_WORD_RE = re.compile(r"\bre\b")  # a module without the word need not be parsed


def _unregistered(path: str, tree: ast.Module) -> set[str]:
    functions = functions_that_read(tree)
    if not functions:
        return set()
    module = f"moorage.{path.removesuffix('.py').replace('/', '.')}"
    importlib.import_module(module)
    return functions - reachable(tree, {name for where, name in READERS if where == module})


def test_readers_of_text_are_registered_or_listed_with_a_reason() -> None:
    left = {path: names for path, tree in modules() if (names := _unregistered(path, tree))}
    assert left == {path: set(names) for path, names in _ALLOWED.items()}


def test_python_regular_expressions_are_for_text_of_our_own() -> None:
    using = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if _WORD_RE.search(text := path.read_text()) and any(map(_imports_re, ast.walk(ast.parse(text))))
    }
    assert using == set(_WITH_RE)


def _imports_re(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "re"
    return isinstance(node, ast.Import) and any(alias.name == "re" for alias in node.names)


@pytest.mark.parametrize(
    "body",
    [
        "return [letter for letter in text]",
        "return int(text)",
        "return float(text[1:])",
        "return text.strip().split(',')",
        "return _is_name(text)",
        "while text[0]: text = text[1:]",
        "return base64.b64decode(text)",
    ],
)
def test_a_new_reader_is_noticed(body: str) -> None:
    tree = ast.parse(f"_is_name = whole('a+')\ndef read(text: str):\n    {body}\n")
    assert functions_that_read(tree) == {"read"}
    assert reachable(tree, set()) == set()


def test_a_function_is_covered_by_the_reader_that_calls_it() -> None:
    tree = ast.parse("def read(text: str):\n    return part(text)\ndef part(text: str):\n    return int(text)\n")
    assert functions_that_read(tree) - reachable(tree, {"read"}) == set()


def test_a_function_that_passes_a_text_on_is_not_a_reader() -> None:
    assert functions_that_read(ast.parse("def name(text: str):\n    return f'{text}!'\n")) == set()
