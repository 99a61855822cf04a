"""Runs notebooks cell by cell, without Jupyter, and compares what they print with what is stored.

In: a notebook of format 4. A cell's output is its standard output and the text of its last expression. Numbers may differ by `CLOSE`, words may not.
Cells with the tag "figure" need matplotlib and are passed over where it is missing; with it each must draw. ``UPDATE_EXPECT=1`` stores the outputs.
"""

import ast
import base64
import contextlib
import importlib.util
import io
import json
import os
import re
from pathlib import Path

#: How far numbers may be off, absolutely and relative to theirs.
CLOSE = 2e-6
#: Pixels an inch of stored pictures.
DOTS = 55
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
HAS_FIGURES = importlib.util.find_spec("matplotlib") is not None


def run(path: Path) -> None:
    """Runs a notebook; a cell whose output differs from the stored one is an AssertionError."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4 and notebook["nbformat_minor"] == 5
    names: dict = {"__name__": "__main__"}
    update = os.environ.get("UPDATE_EXPECT") == "1"
    if HAS_FIGURES:
        import matplotlib

        matplotlib.use("Agg")
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        draws = "figure" in cell["metadata"].get("tags", [])
        if draws and not HAS_FIGURES:
            continue
        text, pictures = execute("".join(cell["source"]), names, draws, f"{path.name}, cell {number}")
        if update:
            cell["outputs"], cell["execution_count"] = outputs(text, pictures, number), number
            continue
        stored = "".join(line for output in cell["outputs"] for line in output.get("text", output.get("data", {}).get("text/plain", [])))
        assert same(text, stored), f"{path.name}, cell {number} prints\n{text}\nand the notebook has\n{stored}"
        kept = [output for output in cell["outputs"] if "image/png" in output.get("data", {})]
        assert len(kept) == len(pictures) == int(draws), f"{path.name}, cell {number}: {len(pictures)} figures, {len(kept)} stored"
    if update:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def execute(code: str, names: dict, draws: bool, place: str) -> tuple[str, list[bytes]]:
    """What a cell prints, its last expression too, and the pictures that it leaves open."""
    if draws:
        close_figures()
    tree = ast.parse(code, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, place, "exec"), names)
        value = eval(compile(ast.Expression(last.value), place, "eval"), names) if last else None
        if value is not None and not draws:
            print(repr(value))
    return printed.getvalue(), open_figures() if draws else []


def open_figures() -> list[bytes]:
    from matplotlib import pyplot

    pictures = []
    for number in pyplot.get_fignums():
        file = io.BytesIO()
        pyplot.figure(number).savefig(file, dpi=DOTS, metadata={"Software": None})
        pictures.append(file.getvalue())
    close_figures()
    return pictures


def close_figures() -> None:
    from matplotlib import pyplot

    pyplot.close("all")


def outputs(text: str, pictures: list[bytes], number: int) -> list[dict]:
    found: list[dict] = [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}] if text else []
    for picture in pictures:
        data = {"image/png": base64.b64encode(picture).decode()}
        found.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return found


def same(found: str, stored: str) -> bool:
    """Whether two texts have the same words, and numbers that are close."""
    if NUMBER.sub("#", found).split() != NUMBER.sub("#", stored).split():
        return False
    pairs = zip(NUMBER.findall(found), NUMBER.findall(stored), strict=True)
    return all(abs(float(a) - float(b)) <= CLOSE * max(1.0, abs(float(b))) for a, b in pairs)
