package structure_test

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
)

// tools are the functions of a request: a schema by name.
type tools map[string]string

func (t tools) Function(name string) ([]byte, bool) {
	schema, ok := t[name]
	return []byte(schema), ok
}

// theTools are the functions of the tests.
var theTools = tools{
	"weather": `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},` +
		`"metric":{"type":"boolean"},` +
		`"at":{"type":["string","null"]},"list":{"type":"array","items":{"type":"integer"}},"o":{"type":"object"}}}`,
	"time": `{"type":"object","properties":{}}`,
}

// The beginnings of calls as [structuretest.Result] shows them.
const (
	weatherCall = "[commentary>functions.weather] "
	timeCall    = "[commentary>functions.time] "
)

func runForm(t *testing.T, form string, cases []textCase) {
	t.Helper()
	run(t, structure.NewCalls(form), structure.Options{ThinkTags: contract.ThinkLeading, Tools: theTools}, cases)
}

func TestHermes(t *testing.T) {
	runForm(t, contract.SpeaksHermes, []textCase{
		{"nothing", "", "", false},
		{"text", "Hi", "[final] Hi return", false},
		{"a call", `<tool_call>` + "\n" + `{"name": "weather", "arguments": {"city": "Paris"}}` + "\n</tool_call>",
			weatherCall + `{"city": "Paris"} call`, false},
		{"reasoning, text, calls", "<think>Hm</think>\nLet me see." +
			`<tool_call>{"name":"weather","arguments":{"city":"a}"}}` +
			"</tool_call>\n" + `<tool_call>{"name":"time","arguments":{}}</tool_call><|im_end|>`,
			`[analysis] Hm end; [final] ` + "\nLet me see." + ` end; ` + weatherCall + `{"city":"a}"} call; ` +
				timeCall + `{} call`, false},
		{"no arguments", `<tool_call>{"name":"time"}</tool_call>`, timeCall + `{} call`, false},
		{"arguments first", `<tool_call>{"arguments":{"a":[1,2]},"name":"time"}</tool_call>`,
			timeCall + `{"a":[1,2]} call`, false},
		{"arguments as a string", `<tool_call>{"name":"time","arguments":"{\"a\":1}"}</tool_call>`,
			timeCall + `{"a":1} call`, false},
		{"a bracket too many", `<tool_call>{"name":"time","arguments":{}}}</tool_call>`,
			timeCall + `{} call`, false},
		{"no end", `<tool_call>{"name":"time","arguments":{}}`, timeCall + `{} call`, false},
		{"cut", `<tool_call>{"name":"time","arguments":{"a":`, timeCall + `{"a": cut`, true},
		{"cut in the name", `<tool_call>{"name":"ti`, `dropped_header 1`, true},
		{"stopped in the name", `<tool_call>{"name":"ti`, `[final] {"name":"ti return; missing_message 1`, false},
		{"no bracket", `<tool_call>{"name":"time"</tool_call>`, timeCall + `{} call`, false},
		{"text instead", "<tool_call>no call</tool_call>",
			`[final] no call return; stray_control 1; missing_message 1`, false},
		{"half a mark", "a <tool_ca", `[final] a <tool_ca return`, false},
		{"in reasoning", `<think>Hm<tool_call>{"name":"time","arguments":{}}</tool_call>`,
			`[analysis] Hm end; ` + timeCall + `{} call; missing_mark 1`, false},
		{"text after it", `<tool_call>{"name":"time","arguments":{}}</tool_call>` + "\nDone.",
			timeCall + `{} call; [final] Done. return`, false},
		{"XML instead", "<tool_call>\n<function=time>\n</function>\n</tool_call>", timeCall + `{} call`, false},
	})
}

// TestCallsBeside: a message beside the text ends the open one, whatever it is.
func TestCallsBeside(t *testing.T) {
	runForm(t, contract.SpeaksHermes, []textCase{
		{"text", "a<tool" + brk + "_call>b", "[final] a<tool end; [final] _call>b return", false},
		{"in a call", `<tool_call>{"name":"time","arguments":{"a":` + brk + "b",
			timeCall + `{"a": call; [final] b return`, false},
		{"in an object", `<tool_call>{"name":"ti` + brk + "b",
			`[final] {"name":"ti end; [final] b return; missing_message 1`, false},
		{"after a call", `<tool_call>{"name":"time","arguments":{}}` + brk + "</tool_call>b",
			timeCall + `{} call; [final] b return`, false},
		{"before all", brk + "<think>a</think>" + `<tool_call>{"name":"time"}</tool_call>`,
			"[analysis] a end; " + timeCall + "{} call", false},
		{"reasoning", "<think>a</th" + brk + "b</think>c", "[analysis] a</th end; [analysis] b end; [final] c return", false},
	})
	runForm(t, contract.SpeaksQwen3Coder, []textCase{
		{"in a value", "<function=weather><parameter=city>a" + brk + "b",
			weatherCall + `{"city":"a"} call; [final] b return`, false},
	})
}

func TestQwen3Coder(t *testing.T) {
	runForm(t, contract.SpeaksQwen3Coder, []textCase{
		{"a call", "<tool_call>\n<function=weather>\n" +
			"<parameter=city>\nParis \"é\"\n\nb\n</parameter>\n<parameter=days>\n3\n" +
			"</parameter>\n<parameter=list>[1, 2]</parameter><parameter=metric>True</parameter><parameter=x>5</parameter>\n" +
			"<parameter=at>null</parameter></function>\n</tool_call>",
			weatherCall + `{"city":"Paris \"é\"\n\nb","days":3,"list":[1, 2],"metric":true,"x":"5","at":null} call`,
			false},
		{"without the outer mark", "Hi <function=time></function> a",
			`[final] Hi  end; ` + timeCall + `{} call; [final] a return`, false},
		{"missing ends", "<tool_call><function=weather><parameter=city>a<parameter=days>x</function></tool_call>",
			weatherCall + `{"city":"a","days":"x"} call; missing_end 2`, false},
		{"cut", "<tool_call><function=weather><parameter=city>Par", weatherCall + `{"city":"Par cut`, true},
		{"stopped", "<tool_call><function=weather><parameter=city>Par\n",
			weatherCall + `{"city":"Par"} call`, false},
		{"stray text", "<tool_call><function=weather>Now: <parameter=city>a</parameter></function></tool_call>",
			weatherCall + `{"city":"a"} call; [final] Now:  end`, false},
		{"an object", "<tool_call><function=weather>\n{\"city\": \"a\"}\n</function></tool_call>",
			weatherCall + `{"city": "a"} call`, false},
	})
}

// TestTypesByPythonsNames: clients' schemas have Python's names of types too.
func TestTypesByPythonsNames(t *testing.T) {
	set := tools{"f": `{"properties":{"a":{"type":"float"},"b":{"type":"bool"},"c":{"type":"str"},"d":{"type":"list"}}}`}
	run(t, structure.NewCalls(contract.SpeaksQwen3Coder), structure.Options{Tools: set}, []textCase{
		{"a call", "<function=f><parameter=a>3.5</parameter><parameter=b>true</parameter><parameter=c>5</parameter>" +
			"<parameter=d>[1]</parameter></function>",
			`[commentary>functions.f] {"a":3.5,"b":true,"c":"5","d":[1]} call`, false},
	})
}

func TestGLM45(t *testing.T) {
	runForm(t, contract.SpeaksGLM45, []textCase{
		{"a call", "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris\n</arg_value>\n<arg_key>days</arg_key>\n" +
			"<arg_value>3</arg_value>\n</tool_call>", weatherCall + `{"city":"Paris\n","days":3} call`, false},
		{"no arguments", "<tool_call>time</tool_call>\n<tool_call>time\n</tool_call>",
			timeCall + `{} call; ` + timeCall + `{} call`, false},
		{"no value", "<tool_call>weather<arg_key>city</arg_key></tool_call>", weatherCall + `{"city":""} call`, false},
		{"a word at the end", "text with <tool_call> marker",
			"[final] text with marker return; missing_message 1", false},
		{"a name at the end", "<tool_call>time", timeCall + "{} call", false},
		{"text instead", "<tool_call>is a mark</tool_call>",
			`[final] is a mark return; stray_control 1; missing_message 1`, false},
	})
}

func TestKimiK2(t *testing.T) {
	runForm(t, contract.SpeaksKimiK2, []textCase{
		{"calls", "Hi<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>" +
			`{"city":"a"}<|tool_call_end|><|tool_call_begin|>functions.time:1<|tool_call_argument_begin|>{} <|tool_call_end|>` +
			"<|tool_calls_section_end|>",
			`[final] Hi end; ` + weatherCall + `{"city":"a"} call; ` + timeCall + `{} call`, false},
		{"no arguments", "<|tool_call_begin|>time<|tool_call_end|>", timeCall + `{} call`, false},
		{"broken arguments", "<|tool_call_begin|>time:0<|tool_call_argument_begin|>a b<|tool_call_end|>",
			timeCall + `a b call`, false},
		{"in reasoning", "<think>Hm<|tool_calls_section_begin|>" +
			"<|tool_call_begin|>functions.time:1<|tool_call_argument_begin|>{}" +
			"<|tool_call_end|><|tool_calls_section_end|>",
			`[analysis] Hm end; ` + timeCall + `{} call; missing_mark 1`, false},
	})
}

func TestDeepSeek(t *testing.T) {
	runForm(t, contract.SpeaksDeepSeekV3, []textCase{
		{"V3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\":\"a\"}\n```" +
			"<｜tool▁call▁end｜><｜tool▁calls▁end｜>", weatherCall + `{"city":"a"} call`, false},
		{"V3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\":\"a\"}<｜tool▁call▁end｜>" +
			"<｜tool▁call▁begin｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
			weatherCall + `{"city":"a"} call; ` + timeCall + `{} call`, false},
	})
	runForm(t, contract.SpeaksDeepSeekV32, []textCase{
		{"a call", "Hi\n\n<｜DSML｜function_calls>\n" +
			"<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">" +
			"a</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">5" +
			"</｜DSML｜parameter>\n<｜DSML｜parameter name=\"y\" " +
			"string=\"false\">[1]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
			"[final] Hi\n\n" + ` end; ` + weatherCall + `{"city":"a","days":5,"y":[1]} call`, false},
	})
}

func TestMistral(t *testing.T) {
	runForm(t, contract.SpeaksMistral, []textCase{
		{"a list", `[TOOL_CALLS] [{"name": "time", "arguments": {}}, {"name": "weather", "arguments": {"city": "a"}}]`,
			timeCall + `{} call; ` + weatherCall + `{"city": "a"} call`, false},
		{"names", `[THINK]Hm[/THINK]Hi[TOOL_CALLS]time[ARGS]{}[TOOL_CALLS]weather{"city":"a"}</s>`,
			`[analysis] Hm end; [final] Hi end; ` + timeCall + `{} call; ` + weatherCall + `{"city":"a"} call`,
			false},
		{"an id", `[TOOL_CALLS]time[CALL_ID]abc123[ARGS]{}`, timeCall + `{} call`, false},
	})
}

func TestLlama3JSON(t *testing.T) {
	runForm(t, contract.SpeaksLlama3JSON, []textCase{
		{"bare", `{"name": "time", "parameters": {}}; {"name": "weather", "parameters": {"city":"a"}}`,
			timeCall + `{} call; ` + weatherCall + `{"city":"a"} call`, false},
		{"tag", `<|python_tag|>{"type":"function","name": "time", "parameters": {}}<|eom_id|>`, timeCall + `{} call`, false},
		{"an answer", ` {"name": "Bob", "parameters": {}}`, `[final]  {"name": "Bob", "parameters": {}} return`, false},
		{"another answer", `{"a": 1} b`, `[final] {"a": 1} b return`, false},
	})
}
