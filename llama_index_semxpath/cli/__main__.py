"""``python -m llama_index_semxpath.cli``."""

import sys

from llama_index_semxpath.cli.main import main

sys.exit(main())
