"""A plot of some figures as SVG: a bar for each, readable on light and dark pages."""

from collections.abc import Mapping
from html import escape

_WIDTH, _LABEL, _BAR, _GAP, _TOP = 720, 170, 22, 10, 40
_ROOM = 90
"""For the figure behind the longest bar."""
_STYLE = "text{font:14px system-ui,sans-serif;fill:#888}rect{fill:#4c78a8}.ours{fill:#f58518}"


def svg(title: str, figures: Mapping[str, float], ours: str = "cronograph") -> str:
    """A bar for each figure, in their order; those whose name begins with ``ours`` in another colour.

    Args:
        title: What the figures are.
        figures: At least one, by name; none negative.
        ours: Whose bars stand out.
    """
    longest = max(figures.values()) or 1.0
    height = _TOP + len(figures) * (_BAR + _GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text x="0" y="20">{escape(title)}</text>',
    ]
    for place, (name, figure) in enumerate(figures.items()):
        top = _TOP + place * (_BAR + _GAP)
        long = (_WIDTH - _LABEL - _ROOM) * figure / longest
        kind = ' class="ours"' if name.startswith(ours) else ""
        lines += [
            f'<text x="0" y="{top + 16}">{escape(name)}</text>',
            f'<rect x="{_LABEL}" y="{top}" width="{long:.1f}" height="{_BAR}"{kind}/>',
            f'<text x="{_LABEL + long + 8:.1f}" y="{top + 16}">{figure:,.0f}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])
