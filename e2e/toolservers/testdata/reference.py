"""Writes the web of the browser, what gpt-oss's own browser shows of it, and what its MCP servers list.

    python reference.py GPT_OSS

GPT_OSS is a copy of github.com/openai/gpt-oss; the files here were written at commit 7b58334. What it needs is in
reference.txt. TIKTOKEN_ENCODINGS_BASE is the folder of o200k_base.tiktoken: tools/vectors.sh sets it. Nothing is asked
of the network: the browser's backend has the pages of web/.
"""
import asyncio
import itertools
import json
import os
import random
import sys
from pathlib import Path

here = Path(__file__).parent
repository = Path(sys.argv[1])
sys.path[:0] = [str(repository), str(repository / "gpt-oss-mcp-server")]

import chz
import tiktoken
import tiktoken_ext.openai_public as public
from tiktoken.load import load_tiktoken_bpe

vocabulary = os.path.join(os.environ["TIKTOKEN_ENCODINGS_BASE"], "o200k_base.tiktoken")
public.load_tiktoken_bpe = lambda *a, **k: load_tiktoken_bpe(vocabulary)

from gpt_oss.tools.simple_browser import ExaBackend, SimpleBrowserTool
from gpt_oss.tools.simple_browser.backend import BackendError
from gpt_oss.tools.simple_browser.simple_browser_tool import wrap_lines

WORDS = ["a", "tea", "x-y", "well-known", "-", "--", "---", " ", "  ", "\t", "é", "茶", "7", "_", "&", "(", "1-2", "e-2"]
WORDS.append("long" * 30)

index = json.loads((here / "web/index.json").read_text())
pages = {p["url"]: (here / "web" / p["file"]).read_text() for p in index["pages"]}


@chz.chz(typecheck=True)
class FileBackend(ExaBackend):
    """ExaBackend, with the answers of a search API that knows web/."""

    async def _post(self, session, endpoint, payload):
        if endpoint == "/search":
            if payload["query"] in index["failing"]:
                raise BackendError(index["failing"][payload["query"]])
            return {"results": index["results"]}
        html = [pages[url] for url in payload["urls"] if url in pages]
        return {"results": [{"text": text} for text in html]}


def write(name, value):
    (here / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def plain(page):
    return {"url": page.url, "title": page.title, "text": page.text, "urls": page.urls}


async def main():
    backend = FileBackend(source="web")
    web = {
        "search": plain(await backend.search("", 20, None)) | {"title": ""},
        "failing": index["failing"],
        "pages": {url: plain(await backend.fetch(url, None)) for url in pages},
    }
    write("web.json", web)

    browsers, shown = {}, []
    for call in json.loads((here / "calls.json").read_text()):
        browser = browsers.setdefault(call["client"], SimpleBrowserTool(backend=backend))
        texts = [m.content[0].text async for m in getattr(browser, call["tool"])(**call["arguments"])]
        text = "\n".join(texts)
        page = browser.tool_state.get_page() if text.startswith("[") else None
        shown.append(call | {"text": text, "page": page and {"url": page.url, "title": page.title}})
    write("shown.json", shown)

    cited = []
    for text in json.loads((here / "answers.json").read_text()):
        content, annotations, _ = browsers["a"].normalize_citations(text)
        cited.append({"text": text, "content": content, "annotations": annotations})
    write("cited.json", cited)

    # Lines of what textwrap tells apart.
    rng, lines = random.Random(1), []
    for size in itertools.chain(range(1, 200, 3), range(79, 83)):
        lines.append("".join(rng.choice(WORDS) for _ in range(size))[: 2 * size])
    write("wrapped.json", [{"line": line, "wrapped": wrap_lines(line)} for line in lines])

    import browser_server
    import python_server

    for server, name in ((browser_server.mcp, "browser_tools.json"), (python_server.mcp, "python_tools.json")):
        tools = [t.model_dump(exclude_none=True, by_alias=True, mode="json") for t in await server.list_tools()]
        write(name, {"instructions": server.instructions, "tools": tools})


asyncio.run(main())
