"""``python -m llama_index_semxpath.cli``."""

import sys

from llama_index_semxpath.cli.main import main

if __name__ == "__main__":  # not in a process that parses for this one
    sys.exit(main())
