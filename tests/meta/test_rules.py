"""The list of rules: each has a golden that expects it, one that expects it not to fire, and a test
that holds what it makes against rows."""

from __future__ import annotations

from pathlib import Path

from forerun.planner.rules.incremental.catalog import INCREMENTAL
from forerun.planner.rules.methods.catalog import METHODS, rule_names
from forerun.planner.rules.normalize.driver import RULE_NAMES
from tests.datadriven import read_blocks
from tests.meta.sources import ROOT
from tests.properties import (
    test_appended_windows,
    test_changed_partitions,
    test_contenders,
    test_memo_values,
    test_recent_rows,
    test_stacked_windows,
    test_subquery_values,
)
from tests.properties.test_delta_laws import LAWS
from tests.properties.test_rule_values import RULES

GOLDENS = sorted(Path(ROOT / "tests" / "plans").rglob("*.test"))
BY_ROWS = {
    # Each golden of a normal form compares answers on random rows.
    "tests/plans/normalize/test_normalize.py": RULE_NAMES,
    "tests/planner/rules/explore/test_counted_nulls.py": ("CountedNulls",),
    "tests/planner/rules/explore/test_pane_groups.py": ("PaneGroups",),
    "tests/planner/rules/explore/test_magic_sets.py": ("MagicSet",),
    "tests/planner/rules/explore/test_eager_aggregate.py": ("EagerAggregate",),
    "tests/planner/rules/explore/test_grouped_partners.py": ("GroupedPartners",),
    "tests/planner/rules/explore/test_same_group.py": ("JoinGroupsOnce",),
    "tests/planner/rules/explore/test_reduced_partners.py": ("ReducedPartners",),
    "tests/planner/rules/explore/test_fused_aggregates.py": ("FusedAggregates",),
    "tests/properties/test_delta_laws.py": tuple(rule.name for _, rule, *_ in LAWS),
    "tests/properties/test_rule_values.py": tuple(rule.name for rule, *_ in RULES),
    "tests/properties/test_memo_values.py": test_memo_values.HOLDS,  # which shows that they fire
    "tests/properties/test_subquery_values.py": test_subquery_values.HOLDS,
    "tests/properties/test_contenders.py": test_contenders.HOLDS,
    "tests/properties/test_changed_partitions.py": test_changed_partitions.HOLDS,
    "tests/properties/test_appended_windows.py": test_appended_windows.HOLDS,
    "tests/properties/test_recent_rows.py": test_recent_rows.HOLDS,
    "tests/properties/test_stacked_windows.py": test_stacked_windows.HOLDS,
}
"""Where rules are held against rows, and which ones."""


def listed(option: str) -> set[str]:
    return {n for path in GOLDENS for block in read_blocks(path) for n in block.listed(option)}


def test_every_rule_has_a_golden_that_expects_it_and_one_that_does_not():
    names = set(rule_names())
    assert names - listed("expect") == set(), "not expected by any golden"
    assert names - listed("expect-not") == set(), "no golden in which it must not fire"


def test_goldens_name_rules_that_there_are():
    passes = {"UniqueColumns"}
    assert (listed("expect") | listed("expect-not")) - set(rule_names()) <= passes


def test_every_rule_is_held_against_rows():
    assert all((ROOT / path).exists() for path in BY_ROWS)
    tested = {name for names in BY_ROWS.values() for name in names}
    assert set(rule_names()) - tested == set()
    assert tested <= set(rule_names()), "a rule that is gone"


def test_every_rule_says_where_it_is_from():
    rules = {rule.name: rule.source for method in METHODS.values() for rule in method.rules}
    rules |= {rule.name: rule.source for rule in INCREMENTAL}
    assert [name for name, source in rules.items() if len(source.split()) < 3] == []
