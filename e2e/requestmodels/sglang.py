"""Reads requests as SGLang's /generate does, by the request models of its wheel.

    sglang.py FOLDER < requests, one JSON object a line

prints for each the members that SGLang does not know, as a JSON list, or {"error": ...} where SGLang would refuse it.
The models are structures of msgspec's. A class that behaves alike is enough to make them, so nothing need be installed.
"""

import ast
import json
import sys
import types


class Struct:
    """What msgspec.Struct does when it is called: members by name, defaults, no others, then __post_init__."""

    def __init_subclass__(cls, **_):
        super().__init_subclass__()
        cls.__struct_fields__ = tuple(cls.__annotations__)

    def __init__(self, **members):
        unknown = set(members) - set(self.__struct_fields__)
        if unknown:
            raise TypeError(f"Unexpected keyword argument {sorted(unknown)}")
        for name in self.__struct_fields__:
            object.__setattr__(self, name, members[name] if name in members else getattr(type(self), name))
        if hasattr(self, "__post_init__"):
            self.__post_init__()


def prepare(folder):
    """Makes the wheel's modules importable without the package, which would import torch."""
    sys.modules["msgspec"] = types.SimpleNamespace(Struct=Struct)
    for name in ("sglang", "sglang.api", "sglang.api.v1", "sglang.srt", "sglang.srt.sampling"):
        package = types.ModuleType(name)
        package.__path__ = [folder + "/" + name.replace(".", "/")]
        sys.modules[name] = package
    for name in ("sglang.srt.sampling.watermarking", "sglang.srt.sampling.watermarking.core"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules[name].WatermarkRequestConfig = dict
    sys.modules[name].normalize_watermark_request = lambda watermark: watermark


def members(folder):
    """The members of GenerateReqInput, whose module needs much that is not installed."""
    with open(folder + "/sglang/srt/managers/io_struct.py", encoding="utf-8") as source:
        module = ast.parse(source.read())
    for item in module.body:
        if isinstance(item, ast.ClassDef) and item.name == "GenerateReqInput":
            return {line.target.id for line in item.body if isinstance(line, ast.AnnAssign)}
    raise SystemExit("io_struct.py has no GenerateReqInput")


def main():
    prepare(sys.argv[1])
    known = members(sys.argv[1])
    from sglang.api.v1.api_types import GenerateRequest
    from sglang.srt.sampling.sampling_params import SamplingParams

    for line in sys.stdin:
        body = json.loads(line)
        try:
            GenerateRequest.from_json_value(body)
            SamplingParams(**body["sampling_params"]).verify(201088)
            said = sorted(set(body) - known)
        except (TypeError, ValueError) as refused:
            said = {"error": str(refused)}
        print(json.dumps(said))


main()
