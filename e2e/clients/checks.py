"""What the Python programs of this folder share: the questions, and how a check fails."""

import os
import re
import sys
import traceback

# The simulated model repeats the question, and says how many tokens it has read.
HELLO = "What is an edge?"
# The script of the simulated server calls get_weather for Paris, says a preamble and calls it for Rome, and then answers.
COMPARE = "Compare the weather in Paris and Rome."
PREAMBLE = "Paris is mild. Rome is next."
COMPARED = "Paris has 21 degrees, Rome has 25."
FOLLOW_UP = "Which is warmer?"
FOLLOWED_UP = "Rome is warmer."
WEATHER = {"Paris": "Paris: 21 degrees", "Rome": "Rome: 25 degrees"}
DESCRIPTION = "The current weather of a city"
# The script hands this over to an agent that it calls, and then rhymes.
POEM = "Ask the poet for a rhyme."
RHYME = "An edge is a ledge."
# The script calls the local shell for this, reads what it has listed, and answers.
COUNT = "Count the files."
LISTED = "edge.go\nledge.go\n"
COUNTED = "There are two."
# Asked for in JSON, with a city and whole degrees, or by a call of a tool that must be called.
FORECAST = "How warm is it in Paris?"
# The script calls tools of an MCP server for these: the first returns what it gets, the second may need an approval.
ECHO = "Echo a banana."
ECHOED = "It says: a banana."
SEARCH = "Find a tool that echoes, and echo a banana."
PAY = "Pay Ann."
PAID = "Ann has it."
DENIED = "Ann has nothing."


class Failed(Exception):
    """A check that did not hold."""


def need(condition, text):
    if not condition:
        raise Failed(text)


def same(got, want, what):
    need(got == want, f"{what}: got {got!r}, want {want!r}")


def hello_answer(text, prompt_tokens):
    """Checks the answer to HELLO, and that the usage counts the tokens that the model says it has read."""
    read = re.fullmatch(f"You said: {re.escape(HELLO)}. I read ([0-9]+) tokens.", text)
    need(read, f"the answer to HELLO is {text!r}")
    same(prompt_tokens, int(read[1]), "prompt tokens in the usage")


def run(name, version, checks, connect=lambda url: url):
    """Runs the checks with a client and the model, prints a line for each, and ends with status 1 at the first that fails.

    connect makes the client from the gateway's URL; without it checks get the URL.
    """
    if len(sys.argv) != 3:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} BASE_URL MODEL")
    url, model = sys.argv[1:]
    client = connect(url)
    for check in checks:
        try:
            check(client, model)
        except Failed as e:
            print(f"FAILED {check.__doc__}: {e}", flush=True)
            sys.exit(1)
        except Exception:
            print(f"FAILED {check.__doc__}, by an exception:\n{traceback.format_exc()}", flush=True)
            sys.exit(1)
        print(f"ok     {check.__doc__}", flush=True)
    print(f"{len(checks)} checks passed with {name} {version}")
