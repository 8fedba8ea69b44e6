"""Tables and numbers as they stand in RESULTS.md."""


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def three(x: float) -> str:
    """Three significant digits without an exponent."""
    return f"{x:.3g}" if x < 100 else f"{x:.0f}"
