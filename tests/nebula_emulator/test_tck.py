"""The emulator against NebulaGraph's own published cases, for the forms that we emit."""

from collections import Counter
from pathlib import Path

import pytest

from .tck import Outcome, Runner, scenarios

TCK = Path(__file__).parents[3] / "shared" / "nebula_tck"
#: Form -> folder of features, and how many scenarios must pass (what passed when it was written).
FORMS = {
    "fetch": 17, "go": 65, "lookup": 16, "insert": 4, "delete": 3, "index": 10, "match": 8,
    "yield": 11,
}  # fmt: skip

pytestmark = pytest.mark.skipif(
    not TCK.exists(), reason="NebulaGraph's published cases (../shared/nebula_tck) are not here"
)


def outcomes(form: str) -> list[Outcome]:
    runner = Runner(TCK / "data")
    found = []
    for path in sorted((TCK / "features" / form).glob("*.feature")):
        if "intvid" not in path.name.lower():  # we emit string ids only
            found += [runner.run(scenario) for scenario in scenarios(path)]
    return found


@pytest.mark.parametrize("form", FORMS)
def test_published_cases(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    results = outcomes(form)
    counts = Counter(outcome.result for outcome in results)
    with capsys.disabled():
        print(f"\nTCK {form}: {counts['passed']} passed, {counts['failed']} failed, "
              f"{counts['outside']} outside the emulator's forms")  # fmt: skip
    assert counts["passed"] >= FORMS[form]
