"""The compiler of a policy's expressions."""

from moorage.admit.extension.policies.compiled import CONDITION, PolicyCompiler


def test_variables_are_added_to_one_environment() -> None:
    """Making an environment for each variable would take a time that grows with the square of their number."""
    compiler = PolicyCompiler((), has_params=False)
    environment = compiler.environment()
    compiler.add_variable("a", "1")
    assert compiler.environment() is environment
    assert compiler.compile("variables.a == 1", CONDITION).error == ""
    assert "undefined field 'b'" in compiler.compile("variables.b == 1", CONDITION).error
