"""The notebooks print what is stored in them."""

import importlib.util

import pytest
from notebooks import run, same

#: Packages that a notebook needs beside NumPy.
NEEDS = {
    "hubbard_to_cuda": [],
    "tower_of_states": [],
    "water_beside_pyscf": ["pyscf"],
    "casscf": ["pyscf"],
    "dmrg_chain": [],
    "own_operator_in_scipy": ["scipy"],
}


def test_every_notebook_is_run(root):
    assert {path.stem for path in (root / "examples" / "notebooks").glob("*.ipynb")} == NEEDS.keys()


@pytest.mark.parametrize("name", NEEDS)
def test_a_notebook_prints_what_is_stored(name, root, monkeypatch, tmp_path):
    missing = [package for package in NEEDS[name] if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    monkeypatch.chdir(tmp_path)
    run(root / "examples" / "notebooks" / f"{name}.ipynb")


def test_other_numbers_and_words_are_found():
    assert same("E = -1.2345678 and 3 states", "E = -1.2345679   and 3 states")
    assert not same("E = -1.2345", "E = -1.2346")
    assert not same("E = 1.0 of a", "E = 1.0 of b") and not same("[1.0]", "[1.0, 2.0]")
