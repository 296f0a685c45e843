"""The cases: settings of a VLLMModel, what its client asks, and what its server answers."""
import cases_answers
import cases_chat
import cases_input
import cases_settings
import cases_tokens


def groups():
    """Returns the cases of each file, by the file's name."""
    return {
        "input": cases_input.CASES,
        "parameters": cases_input.PARAMETERS,
        "settings": cases_settings.CASES,
        "answers": cases_answers.CASES,
        "tokens": cases_tokens.CASES,
        "chat": cases_chat.CASES,
    }
