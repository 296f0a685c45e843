"""Cases with the ids and the logprobs of tokens, on answers and on items that come back."""
from build import CLOCK, WEATHER, answer, call, case, failed, message, reasoning, result, user

PARIS = call("get_weather", '{"city":"Paris"}', "call_1")
TRAINING = {"return_token_id_information": True}
INLINE = TRAINING | {"request_prompt_and_generation_token_ids": True}
BUNDLE = {"prompt_token_ids": [1, 2, 3], "generation_token_ids": [4, 5], "generation_log_probs": [-0.25, -1.5]}


def scored(body, generation, logprobs):
    """Adds logprobs as vLLM gives them with return_tokens_as_token_ids."""
    content = [{"token": f"token_id:{t}", "logprob": p, "bytes": None, "top_logprobs": []} for t, p in zip(generation, logprobs)]
    body["choices"][0]["logprobs"] = {"content": content}
    return body


def inline(body, prompt, generation, logprobs):
    """Adds the ids as vLLM gives them with return_token_ids."""
    scored(body, generation, logprobs)["prompt_token_ids"] = prompt
    body["choices"][0]["token_ids"] = generation
    return body


def looked_up(body, prompt, generation, logprobs):
    """Adds the logprobs alone. The ids of the prompt are what /tokenize answers."""
    return scored(body, generation, logprobs) | {"tokenize": prompt}


def sampled(name, body, ids=([151644, 872], [9707, 0], [-0.5, -0.0]), **settings):
    return case(name, [("Hello", inline(body, *ids))], request={"tools": [WEATHER, CLOCK]}, **(INLINE | settings))


ANSWERS = [
    sampled("text", answer("Fine.")),
    sampled("text_without_parser", answer("<think>They greet.</think>Fine."), uses_reasoning_parser=False),
    sampled("reasoning", answer("Fine.", reasoning_content="They greet.")),
    sampled("reasoning_alone", answer(None, "length", reasoning_content="They gre")),
    sampled("tags", answer("<think>They greet.</think>Fine.")),
    sampled("call", answer(None, "tool_calls", tool_calls=[PARIS])),
    sampled("calls", answer("Both.", "tool_calls", tool_calls=[PARIS, call("get_time", "{}", "call_2")], reasoning="Two.")),
    sampled("empty", answer(None)),
    sampled("spelled", answer("Fine."), ([0], [4294967295, 1], [-1.2345678901234567, -1e-07])),
    sampled("long", answer("Fine."), (list(range(600)), list(range(300)), [-i / 1000 for i in range(300)])),
    case("looked_up", [("Hello", looked_up(answer("Fine."), [1, 2, 3], [4, 5], [-0.25, -1.5]))], **TRAINING),
    case("too_long", [("Hello", failed(400, "This model's maximum context length is 10 tokens."))], **INLINE),
]

SAMPLED = message("Hi.") | BUNDLE


def comes_back(name, items, **settings):
    turn = [user("Hello"), *items, user("Bye")]
    body = inline(answer("Bye."), [1, 2, 3, 4, 5, 6], [7, 8], [-0.125, -2.0])
    return case(name, [(turn, body)], **settings)


CALLED = {"type": "function_call", "name": "get_weather", "arguments": "{}", "call_id": "call_1"} | BUNDLE
HISTORY = [
    comes_back("item_message", [SAMPLED], **INLINE),
    comes_back("item_reasoning_message", [reasoning("They greet."), SAMPLED], **INLINE),
    comes_back("item_call", [CALLED, result("call_1", "Rain.")], **INLINE),
    comes_back("item_reasoning_call", [reasoning("I need it."), CALLED, result("call_1", "Rain.")], **INLINE),
    comes_back("item_reasoning_alone", [reasoning("They gre") | BUNDLE], **INLINE),
    comes_back("items_of_two_turns", [SAMPLED, user("Well?"), message("So?") | BUNDLE | {"prompt_token_ids": [9]}], **INLINE),
    comes_back("item_ids_not_asked", [SAMPLED]),
    comes_back("item_ids_in_part", [message("Hi.") | {"prompt_token_ids": [1]}], **INLINE),
]

ROUNDS = [
    case("rounds", [
        ("What is the weather in Paris?",
         inline(answer(None, "tool_calls", tool_calls=[PARIS], reasoning_content="I need the tool."),
                [1, 2, 3], [10, 11, 12], [-0.1, -0.2, -0.30000000000000004])),
        ([result("call_1", "Rain.")],
         inline(answer("Rain.", reasoning_content="Done."), [1, 2, 3, 10, 11, 12, 4], [13, 14], [-1.0, -0.00012207])),
        ([user("Thanks")], inline(answer("You are welcome."), [1, 2, 3, 10, 11, 12, 4, 13, 14, 5], [15], [-3.5])),
    ], request={"tools": [WEATHER]}, **INLINE),
    case("rounds_looked_up", [
        ([user("Hello")], looked_up(answer("Hi."), [1, 2], [3], [-0.5])),
        ([user("Bye")], looked_up(answer("Bye."), [1, 2, 3, 4], [5], [-0.25])),
    ], **TRAINING),
    case("rounds_tags", [
        ("Hello", inline(answer("<think>They greet.</think>Hi."), [1, 2], [3, 4], [-0.5, -0.75])),
        ([user("Bye")], inline(answer("<think>They go.</think>Bye."), [1, 2, 3, 4, 5], [6], [-0.25])),
        ([user("Bye!")], inline(answer("Bye!"), [1, 2, 3, 4, 5, 6, 7], [8], [-0.125])),
    ], **INLINE),
]

CASES = ANSWERS + HISTORY + ROUNDS
