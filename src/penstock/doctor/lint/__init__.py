"""Lint: what will go wrong in a training loop, said before it runs.

`lint_text` and `lint_paths` are what `penstock lint` and the plugin for Flake8 are made of. They need
the standard library only, and load no framework: code is read, never run.
"""

from penstock.doctor.lint.check import lint_text
from penstock.doctor.lint.config import Config
from penstock.doctor.lint.finding import Finding, Problem
from penstock.doctor.lint.rule import Rule
from penstock.doctor.lint.rules import rules
from penstock.doctor.lint.run import Outcome, lint_paths

__all__ = ["Config", "Finding", "Outcome", "Problem", "Rule", "lint_paths", "lint_text", "rules"]
