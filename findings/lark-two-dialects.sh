#!/usr/bin/env bash
# A grammar in Lark's language, as OpenAI's custom tools have it (syntax: lark), at the library that the language is named
# after, and at the one that inference servers use for it.
#
# Software: lark 1.3.1 and llguidance 1.7.6 (PyPI).
# A good guess: both read the same language, so a server's grammar can be checked with lark.
# Seen: a terminal that may be empty, such as /(.*)/ for the rest of a line, is an error in all of lark's parsers, also in
# Earley's, and llguidance takes it. Of a grammar that both take, they allow different texts: lark's dynamic lexer tries
# all ends of a terminal, and llguidance's takes the longest, so /(.+)/ "x" never ends there.
# Consequence: lark is no oracle for a grammar's texts at a server, and a server's grammar may be none for lark.
set -euo pipefail

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check lark==1.3.1 llguidance==1.7.6
seen="$("$work/venv/bin/python" - <<'PY'
from lark import Lark
from llguidance import LLMatcher, LLTokenizer

tokenizer = LLTokenizer("byte")


def in_lark(grammar, text, parser, lexer):
    try:
        parsed = Lark(grammar, parser=parser, lexer=lexer)
    except Exception as e:
        return type(e).__name__
    try:
        parsed.parse(text)
    except Exception as e:
        return "refuses"
    return "allows"


def in_llguidance(grammar, text):
    grammar = LLMatcher.grammar_from_lark(grammar)
    if error := LLMatcher.validate_grammar(grammar, tokenizer):
        return error
    matcher, tokens = LLMatcher(tokenizer, grammar), tokenizer.tokenize_bytes(text.encode())
    return "allows" if matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting() else "refuses"


rest = 'start: "begin" LF line+ "end" LF?\nline: "+" /(.*)/ LF\n%import common.LF\n'
for parser, lexer in ("earley", "dynamic"), ("earley", "dynamic_complete"), ("lalr", "contextual"), ("cyk", "basic"):
    print("rest of a line, lark", parser, lexer + ":", in_lark(rest, "begin\n+one\n+\nend\n", parser, lexer))
print("rest of a line, llguidance:", in_llguidance(rest, "begin\n+one\n+\nend\n"))
shared = 'start: /(.+)/ "x"\n'
print("shared end, lark earley dynamic_complete:", in_lark(shared, "aax", "earley", "dynamic_complete"))
print("shared end, llguidance:", in_llguidance(shared, "aax"))
PY
)"
printf '%s\n' "$seen"
[[ "$seen" == "rest of a line, lark earley dynamic: GrammarError
rest of a line, lark earley dynamic_complete: GrammarError
rest of a line, lark lalr contextual: LexError
rest of a line, lark cyk basic: LexError
rest of a line, llguidance: allows
shared end, lark earley dynamic_complete: allows
shared end, llguidance: refuses" ]] || { echo "this has changed" >&2; exit 1; }
