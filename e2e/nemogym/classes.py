"""Reads and writes requests and responses as an agent of NeMo Gym's does, by the classes of its wheel.

    classes.py FILE < lines, a JSON list of a class's name and of an object each

prints each object as the class of FILE, openai_utils.py, writes it. The file's only import from NeMo Gym is of what
sends requests by Ray, and none of it is called.
"""

import importlib.util
import json
import sys
import types


class Nothing(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return object


for name in ("nemo_gym", "nemo_gym.server_utils"):
    sys.modules[name] = Nothing(name)
spec = importlib.util.spec_from_file_location("nemo_gym.openai_utils", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
for line in sys.stdin:
    name, value = json.loads(line)
    print(json.dumps(getattr(module, name).model_validate(value).model_dump(mode="json", exclude_unset=True)))
