"""``python -m tools.reference``: write the pages anew."""

from __future__ import annotations

from tools.reference.pages import PLACE, pages

for path in PLACE.rglob("*.md"):
    path.unlink()
for name, text in pages().items():
    path = PLACE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
