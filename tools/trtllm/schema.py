"""Writes the JSON Schema of what TensorRT-LLM's trtllm-serve takes at /v1/completions.

    schema.py openai_protocol.py > e2e/requestmodels/testdata/trtllm.schema.json

reads tensorrt_llm/serve/openai_protocol.py, which could only be imported beside torch and a GPU's libraries. It makes
CompletionRequest and the models that it has, without their methods. A type that is not defined in the file is any
value. It needs pydantic: .tools/venv/openai/bin/python has it.
"""

import ast
import builtins
import json
import sys
import typing

import pydantic
import typing_extensions


def used(item):
    """The names in a definition."""
    return {node.id for node in ast.walk(item) if isinstance(node, ast.Name)}


class Known(ast.NodeTransformer):
    """Replaces what is not known in an annotation by Any."""

    def __init__(self, names):
        self.names = names

    def visit_Name(self, node):
        return node if node.id in self.names else ast.Name("Any", ast.Load())

    def visit_Attribute(self, node):
        return ast.Name("Any", ast.Load())


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        module = ast.parse(source.read())
    definitions = {}
    for item in module.body:
        if isinstance(item, ast.ClassDef):
            item.body = [line for line in item.body if isinstance(line, (ast.AnnAssign, ast.Assign))]
            definitions[item.name] = item
        elif isinstance(item, ast.AnnAssign) and item.value:
            definitions[item.target.id] = item
    wanted, left = [], ["CompletionRequest"]
    while left:
        name = left.pop()
        if name in definitions and name not in wanted:
            wanted.append(name)
            left += used(definitions[name])
    names = {**vars(builtins), **vars(typing), **vars(typing_extensions)}
    names |= {name: getattr(pydantic, name) for name in ("BaseModel", "ConfigDict", "Field")}
    known = Known(set(names) | set(wanted))
    for name, item in definitions.items():
        if name in wanted:
            for line in item.body if isinstance(item, ast.ClassDef) else []:
                if isinstance(line, ast.AnnAssign):
                    line.annotation = known.visit(line.annotation)
            exec(compile(ast.fix_missing_locations(ast.Module([item], [])), name, "exec"), names)

    def bare(value):
        """The schema without titles and descriptions, which mean nothing to a validator."""
        if isinstance(value, list):
            return [bare(v) for v in value]
        if not isinstance(value, dict):
            return value
        return {k: bare(v) for k, v in value.items() if not (k in ("title", "description") and isinstance(v, str))}

    json.dump(bare(names["CompletionRequest"].model_json_schema()), sys.stdout, indent=1)
    print()


main()
