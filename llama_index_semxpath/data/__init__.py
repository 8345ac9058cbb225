"""The demo corpus that ships with the package: ten documents in Chinese and English."""

from pathlib import Path


def demo_dir() -> Path:
    """Folder of the demo corpus, for ``semxpath demo``, the README and the tests.

    ``company/`` holds an employee handbook, two versions of a travel policy and a procurement
    policy with its register of contracts (Chinese); ``kestrel/`` holds the manual of a fictional
    backup program in HTML, Markdown and plain text (English). Company, people, program and
    contracts are invented.

    Returns:
        Absolute path of an existing, read-only folder.

    Examples:
        >>> sorted(path.name for path in demo_dir().iterdir())
        ['company', 'kestrel']
        >>> len([path for path in demo_dir().rglob("*") if path.is_file()])
        10
    """
    return Path(__file__).resolve().parent / "demo"
