"""What the tests of this folder read: the project's own tracked files, parsed once."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("planner", "include", "spark_jobs", "plugins", "dags", "forerun", "scripts")


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that git tracks or would add, as paths relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = (Path(name.decode()) for name in listed.split(b"\0") if name)
    return tuple(sorted(p for p in paths if (ROOT / p).is_file()))


def modules(*folders: str) -> list[Path]:
    """Python files below the folders (default: the whole product)."""
    wanted = folders or PRODUCT
    return [p for p in tracked() if p.suffix == ".py" and p.parts[0] in wanted]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a tracked module."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


def imports(node: ast.AST) -> list[tuple[str, int]]:
    """``(module, line)`` of the imports anywhere below a node; for ``from a import b``: ``a.b``."""
    found = []
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            found += [(alias.name, child.lineno) for alias in child.names]
        elif isinstance(child, ast.ImportFrom) and child.module:
            found += [(f"{child.module}.{alias.name}", child.lineno) for alias in child.names]
    return found


def import_time(path: Path) -> list[tuple[str, int]]:
    """The imports that importing the module performs: not in functions, not for types only."""
    found: list[tuple[str, int]] = []
    todo: list[ast.AST] = list(tree(path).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += imports(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        else:
            todo += ast.iter_child_nodes(node)
    return found


def used(path: Path) -> list[tuple[str, int]]:
    """The imports of a module, in functions too, but not those for types only."""
    typed = {
        one
        for node in ast.walk(tree(path))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for one in imports(node)
    }
    return [one for one in imports(tree(path)) if one not in typed]


def is_below(module: str, package: str) -> bool:
    """Whether a module is the package or inside of it."""
    return module == package or module.startswith(package + ".")
