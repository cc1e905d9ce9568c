"""Rules in CEL of a schema (x-kubernetes-validations): declared types, cost estimates, evaluation.

    tree = rule_tree(schema)                                  # None if no node of the schema has a rule
    errors, warnings = check_rules(tree, new, old, correlation)

`compile_rules` gives what validation of a definition needs: compile errors, estimated costs, whether oldSelf is used.
Kubernetes: apiextensions-apiserver, pkg/apiserver/schema/cel.
"""

from moorage.custom.expressions.evaluate import RUNTIME_BUDGET, RuleFindings, RuleTree, check_rules, rule_tree
from moorage.custom.expressions.rules import CompiledRule, compile_rules

__all__ = ["RUNTIME_BUDGET", "CompiledRule", "RuleFindings", "RuleTree", "check_rules", "compile_rules", "rule_tree"]
