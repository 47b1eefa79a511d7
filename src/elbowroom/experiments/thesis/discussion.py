"""What the report says about the results, test by test: of the arm and the gains that come with elbowroom."""

from __future__ import annotations

DISCUSSION: dict[str, str] = {}
