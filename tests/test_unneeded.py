"""The packages that the image leaves out: what imports them, and that the server does without."""

import os
import re
import subprocess
import sys
import venv
from functools import cache
from importlib.metadata import distribution, distributions
from pathlib import Path

import chromadb
import pytest

ROOT = Path(__file__).resolve().parents[1]
SITE = Path(chromadb.__file__).parents[1]
LIST = (ROOT / "packaging" / "unneeded.txt").read_text().splitlines()
UNNEEDED = [line for line in LIST if line and not line.startswith("#")]
NEVER_USED = {
    "chromadb.segment.impl.distributed.segment_directory": {"kubernetes"},
    "chromadb.utils.embedding_functions.schemas.bm25_tokenizer": {"mmh3"},
    "chromadb.utils.rendezvous_hash": {"mmh3"},
}
"""Modules of Chroma that import them: clusters, and an embedding function. If one is new here, is it one of ours?"""
IMPORTS = re.compile(r"^[ \t]*(?:import|from)[ \t]+(\w+)", re.MULTILINE)
# Evidence in each of the three places with the real model, HTTP, and every component. `.ci/run` uninstalls them and
# runs a server over stdio.
PATHS = (
    "tests/evidence/test_store.py::test_the_question_is_answered_by_meaning_before_stray_words",
    "tests/evidence/test_sessions.py::test_a_session_is_taken_up_again_after_a_restart",
    "tests/transports/http/test_call_limits.py::test_the_serve_command_limits_and_counts_calls",
    "tests/cli/test_doctor.py::test_components_that_work_and_a_refused_key_are_reported",
)


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def owned() -> dict[str, set[str]]:
    """The distributions that have files in each entry of site-packages."""
    found = dict[str, set[str]]()
    for one in distributions(path=[str(SITE)]):
        name = normalized(one.name)
        for entry in {re.split("[/,]", line, maxsplit=1)[0] for line in (one.read_text("RECORD") or "").splitlines()}:
            found.setdefault(entry, set()).add(name)
    return {name: owners for name, owners in found.items() if name != ".."}


@pytest.fixture(scope="module")
def slim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with everything that this one has, but for those packages."""
    folder = tmp_path_factory.mktemp("slim")
    venv.create(folder, symlinks=True, with_pip=False)
    other = folder.joinpath(*SITE.relative_to(sys.prefix).parts)
    for name, owners in owned().items():
        if not owners <= set(UNNEEDED) and (SITE / name).exists():
            assert name == "__pycache__" or not owners & set(UNNEEDED), (name, owners)
            (other / name).symlink_to(SITE / name)
    chroma = Path(sys.executable).with_name("chroma")  # of this environment: a server is none of ours
    (folder / "bin" / chroma.name).symlink_to(chroma)
    return folder / "bin" / "python"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems install other packages")
def test_each_of_them_is_still_installed_by_what_requires_it() -> None:
    assert [distribution(name).name for name in UNNEEDED]
    assert sorted(map(normalized, UNNEEDED)) == sorted(set(UNNEEDED))


def test_what_is_bounded_for_its_size_alone_is_still_required_by_chroma() -> None:
    """Otherwise our bound would be what installs it."""
    assert any(one.startswith("kubernetes") for one in distribution("chromadb").requires or ())


def test_what_chroma_imports_of_them_is_known_and_unused() -> None:
    modules = {name for name, owners in owned().items() if owners <= set(UNNEEDED) and not name.endswith("-info")}
    found = {
        ".".join(path.with_suffix("").relative_to(SITE).parts): modules & {*IMPORTS.findall(path.read_text("utf-8"))}
        for path in (SITE / "chromadb").rglob("*.py")
        if "test" not in path.parts
    }
    assert {name: some for name, some in found.items() if some} == NEVER_USED


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_every_path_works_without_them(slim: Path) -> None:
    missing = "import importlib.util as u, sys; sys.exit(any(map(u.find_spec, ('kubernetes', 'huggingface_hub'))))"
    assert subprocess.run([slim, "-c", missing], check=False).returncode == 0
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [slim, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *PATHS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:]
    assert "skipped" not in done.stdout
