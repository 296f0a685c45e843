"""Compiles grammars with an engine's own compiler, and asks it which texts they allow. Prints a row of a table.

    compile.py xgrammar|llguidance|llguidance-lark FILE

FILE is what the tests of harmonycore/lark write with -ebnf: names, each with a grammar in Lark and in EBNF, and texts. All
compile the EBNF but the last one, which is what an engine does that takes Lark. xgrammar must decide as the library lark.
llguidance has tokens that end as late as they can, so it may refuse texts that the library takes.
"""

import importlib.metadata
import json
import sys


def with_xgrammar():
    import xgrammar

    vocabulary = [chr(c) for c in range(0x20, 0x7F)] + ["\n", "<|call|>", "<|return|>"]
    stops = [len(vocabulary) - 2, len(vocabulary) - 1]
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(vocabulary, stop_token_ids=stops))

    def tag(*elements):
        return compiler.compile_structural_tag(json.dumps({"type": "structural_tag",
                                                           "format": {"type": "sequence", "elements": elements}}))

    def compiled(g):
        grammar = g["ebnf"]
        head = {"type": "const_string", "value": "<|message|>"}
        form = {"type": "grammar", "grammar": grammar}
        ended = tag(head, form)
        open_ended = tag(head, form, {"type": "optional", "content": {"type": "const_string", "value": "<|call|>"}})

        def allows(text):
            matcher = xgrammar.GrammarMatcher(ended)
            if not matcher.accept_string("<|message|>" + text) or not matcher.is_completed():
                return False
            # The model's own <|call|> must be possible, as a stop token and as text.
            matcher = xgrammar.GrammarMatcher(open_ended)
            assert matcher.accept_string("<|message|>" + text)
            assert matcher.fork().accept_token(stops[0]) and matcher.accept_string("<|call|>")
            return True

        return allows

    return "xgrammar " + importlib.metadata.version("xgrammar"), "EBNF", compiled


def with_llguidance(itself=False):
    import llguidance
    from llguidance.gbnf_to_lark import gbnf_to_lark

    tokenizer = llguidance.LLTokenizer("byte")

    def compiled(g):
        lark = llguidance.LLMatcher.grammar_from_lark(g["lark"] if itself else gbnf_to_lark(g["ebnf"]))
        error = llguidance.LLMatcher.validate_grammar(lark, tokenizer)
        if error:
            raise ValueError(error)

        def allows(text):
            matcher = llguidance.LLMatcher(tokenizer, lark, log_level=0)
            return all(matcher.consume_token(b) for b in text.encode()) and matcher.is_accepting()

        return allows

    return "llguidance " + importlib.metadata.version("llguidance"), "Lark" if itself else "EBNF", compiled


def main():
    name, language, compiled = {
        "xgrammar": with_xgrammar,
        "llguidance": with_llguidance,
        "llguidance-lark": lambda: with_llguidance(itself=True),
    }[sys.argv[1]]()
    with open(sys.argv[2], encoding="utf-8") as file:
        grammars = json.load(file)
    taken, asked, agreed = 0, {True: 0, False: 0}, {True: 0, False: 0}
    for grammar, g in grammars.items():
        try:
            allows = compiled(g)
        except Exception as e:  # noqa: BLE001
            print(f"{name}: {grammar}: {e}", file=sys.stderr)
            continue
        taken += 1
        for text, want in g["texts"].items():
            asked[want] += 1
            if allows(text) == want:
                agreed[want] += 1
            elif name.startswith("xgrammar") or not want:
                print(f"{name}: {grammar}: {text!r}: {not want}, lark says {want}", file=sys.stderr)
    print(f"| {name} | {language} | {taken} of {len(grammars)} | {agreed[True]} of {asked[True]} | {agreed[False]} of {asked[False]} |")
    sys.exit(agreed[False] < asked[False] or name.startswith("xgrammar") and (taken < len(grammars) or agreed != asked))


if __name__ == "__main__":
    main()
