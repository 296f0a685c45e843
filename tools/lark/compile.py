"""Compiles the EBNF of grammars with an engine's own compiler, and asks it which texts they allow.

    compile.py xgrammar|llguidance FILE

FILE is what the tests of harmonycore/lark write with -ebnf: names, each with a grammar in EBNF and texts.
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

    def compiled(grammar):
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

    return "xgrammar " + importlib.metadata.version("xgrammar"), compiled


def with_llguidance():
    import llguidance
    from llguidance.gbnf_to_lark import gbnf_to_lark

    tokenizer = llguidance.LLTokenizer("byte")

    def compiled(grammar):
        lark = llguidance.LLMatcher.grammar_from_lark(gbnf_to_lark(grammar))
        error = llguidance.LLMatcher.validate_grammar(lark, tokenizer)
        if error:
            raise ValueError(error)

        def allows(text):
            matcher = llguidance.LLMatcher(tokenizer, lark)
            return all(matcher.consume_token(b) for b in text.encode()) and matcher.is_accepting()

        return allows

    return "llguidance " + importlib.metadata.version("llguidance"), compiled


def main():
    name, compiled = {"xgrammar": with_xgrammar, "llguidance": with_llguidance}[sys.argv[1]]()
    with open(sys.argv[2], encoding="utf-8") as file:
        grammars = json.load(file)
    failed, texts = 0, 0
    for grammar, g in grammars.items():
        try:
            allows = compiled(g["ebnf"])
        except Exception as e:  # noqa: BLE001
            print(f"{name}: {grammar}: {e}")
            failed += 1
            continue
        for text, want in g["texts"].items():
            texts += 1
            if allows(text) != want:
                print(f"{name}: {grammar}: {text!r}: {not want}, lark says {want}")
                failed += 1
    print(f"{name}: {len(grammars)} grammars, {texts} texts, {failed} wrong")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
