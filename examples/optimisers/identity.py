#!/usr/bin/env python3
"""The smallest optimiser: it reads the request and proposes nothing."""

import json
import sys

json.load(sys.stdin)
json.dump({"v": 1, "patches": [], "rationale": "nothing to improve"}, sys.stdout)
