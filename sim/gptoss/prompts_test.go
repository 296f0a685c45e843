package gptoss

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"

// Prompts in the spellings of control tokens: a system message, a question, and a developer message with functions.
const (
	systemText = "<|start|>system<|message|>You are ChatGPT.\n\nReasoning: low\n\n# Valid channels: analysis, " +
		"commentary, final. Channel must be included for every message.<|end|>"
	hello   = systemText + "<|start|>user<|message|>Hello there<|end|><|start|>assistant"
	weather = systemText + "<|start|>developer<|message|># Instructions\n\nBe kind.\n\n# Tools\n\n## " +
		"functions\n\nnamespace functions {\n\n" +
		"// Current weather of a place\ntype get_weather = (_: {\n// The city\nlocation: string,\nunit?: \"celsius\" | " +
		"\"fahrenheit\", // default: celsius\n}) => any;\n\n" +
		"type now = () => any;\n\n} // namespace functions<|end|><|start|>user<|message|>What is the weather in San " +
		"Francisco, in fahrenheit?<|end|>"
)

func encode(text string) []uint32 { return o200k.Tokenizer().AppendEncodeSpecial(nil, text) }
func spell(ids []uint32) string   { return o200k.Tokenizer().DecodeString(ids) }
