package backend

import (
	"fmt"
	"strings"
	"testing"
)

func TestLlamaCPPRequest(t *testing.T) {
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{
			Request{Model: "m", Prompt: []uint32{200006, 17360}, MaxTokens: 4096, StopTokens: []uint32{200002, 200012},
				Sampling: Sampling{Temperature: "0.70", TopP: "0"}},
			`{"model":"m","prompt":[200006,17360],"n_predict":4096,"samplers":["penalties","temperature","top_k","top_p",` +
				`"min_p"],"mirostat":0,"dynatemp_range":0,"repeat_last_n":64,"temperature":0.70,"top_p":1e-6,"top_k":0,` +
				`"min_p":0,"repeat_penalty":1,"presence_penalty":0,"frequency_penalty":0,"seed":-1,"stop":[],` +
				`"preserved_tokens":["<|return|>","<|call|>","<|endoftext|>"],"response_fields":["index","content",` +
				`"tokens","stop","stop_type","tokens_predicted","tokens_evaluated","timings"],"stream":true}`,
		},
		{
			Request{Model: "m", Prompt: []uint32{1}, MaxTokens: 5, Choices: 2,
				Sampling: Sampling{Temperature: "1", TopP: "1", PresencePenalty: "1", FrequencyPenalty: "-1", Seed: "7",
					LogitBias: []Bias{{5, "-1"}}, Extras: []Member{{"top_k", "40"}, {"min_p", "0.1"},
						{"repetition_penalty", "1.1"}, {"min_tokens", "2"}}}},
			`{"model":"m","prompt":[1],"n_predict":5,"n":2,"samplers":["penalties","temperature","top_k","top_p",` +
				`"min_p"],"mirostat":0,"dynatemp_range":0,"repeat_last_n":64,"temperature":1,"top_p":1,"top_k":40,` +
				`"min_p":0.1,"repeat_penalty":1.1,"presence_penalty":1,"frequency_penalty":-1,"seed":7,` +
				`"logit_bias":{"5":-1},"stop":[],` +
				`"preserved_tokens":["<|return|>","<|call|>","<|endoftext|>"],"response_fields":["index","content",` +
				`"tokens","stop","stop_type","tokens_predicted","tokens_evaluated","timings"],"stream":true}`,
		},
	} {
		if got := string(llamacpp{}.AppendRequest(nil, &tt.r)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// llamaEventOf is an event with this content. predicted is the server's count after it.
func llamaEventOf(content, ids string, predicted int) string {
	return `data: {"index":0,"content":"` + content + `","tokens":[` + ids + `],"stop":false,"id_slot":-1,` +
		fmt.Sprintf(`"tokens_predicted":%d,"tokens_evaluated":512}`, predicted) + "\n\n"
}

// llamaEndOf is the last event of a choice.
func llamaEndOf(stopType string, predicted int) string {
	return `data: {"index":0,"content":"","tokens":[],"stop":true,"stop_type":"` + stopType + `",` +
		fmt.Sprintf(`"tokens_predicted":%d,"tokens_evaluated":512,"timings":{"cache_n":511,"prompt_n":1}}`, predicted) +
		"\n\n"
}

const llamaUsage = " usage {Prompt:512 Cached:511 Completion:%d HasCached:true}"

// llamaStreams are streams as the server sends them, from e2e/llamacpp/testdata, shortened.
var llamaStreams = []streamCase{
	{
		"final", llamaEventOf("<|channel|>", "200005", 1) + llamaEventOf("final", "17196", 2) +
			llamaEventOf("<|message|>", "200008", 3) + llamaEventOf("Hi", "12194", 4) +
			llamaEventOf("<|return|>", "200002", 5) + llamaEndOf("eos", 5),
		`0:[200005 200008 200002]1  "final"1 "Hi"1` + fmt.Sprintf(llamaUsage, 5),
	},
	{
		"a token that ends an answer without being preserved", llamaEventOf("a", "64", 1) +
			llamaEventOf("", "200012", 2) + llamaEndOf("eos", 2),
		`0:[200012]1  "a"1` + fmt.Sprintf(llamaUsage, 2),
	},
	{
		"a character of several tokens", llamaEventOf(" 🧑", "239", 3) + llamaEventOf("�<|call|>", "200012", 6) +
			llamaEndOf("eos", 6),
		`0:[200012]1  " 🧑"3 "�"2` + fmt.Sprintf(llamaUsage, 6),
	},
	{
		"text that spells a control token", llamaEventOf("<|call|>", "91", 6) + llamaEventOf(
			"<|call|><|call|>", "200012", 9) +
			llamaEndOf("eos", 9),
		`0:[200012]1  "<|call|>"6 "<|call|>"2` + fmt.Sprintf(llamaUsage, 9),
	},
	{
		"the limit within a character", llamaEventOf("a", "64", 1) + llamaEndOf("limit", 3),
		`0:[]2  "a"1 ""2` + fmt.Sprintf(llamaUsage, 3),
	},
	{
		"an end of no known kind", llamaEventOf("a", "64", 1) + llamaEndOf("none", 1),
		`0:[]3  "a"1` + fmt.Sprintf(llamaUsage, 1),
	},
	{
		"two choices", llamaEventOf("a", "64", 1) + strings.Replace(llamaEventOf("b", "65", 1), `"index":0`, `"index":1`, 1) +
			llamaEndOf("eos", 1) + strings.Replace(llamaEndOf("limit", 4), `"index":0`, `"index":1`, 1),
		`0:[]1 1:[]2  "a"1 "b"1 ""3` + fmt.Sprintf(llamaUsage, 2) + fmt.Sprintf(llamaUsage, 5),
	},
	{
		"a choice that was not asked for", strings.Replace(llamaEventOf("a", "64", 1), `"index":0`, `"index":999`, 1),
		` "a"0`,
	},
	{
		"an error", llamaEventOf("a", "64", 1) + `data: {"error":{"code":500,"message":"got exception: x",` +
			` "type":"server_error"}}` + "\n\n",
		` "a"1 error {Status:500 Message:got exception: x Type:server_error Code: Param:}`,
	},
	{"pings", ":\n\n" + llamaEventOf("a", "64", 1) + ":\n\n", ` "a"1`},
	{"counts that fall", llamaEventOf("a", "64", 2) + llamaEventOf("b", "65", 1), ` "a"2 garbled`},
	{"counts that stand", llamaEventOf("a", "64", 1) + llamaEventOf("b", "65", 1), ` "a"1 garbled`},
	{"a count without end", llamaEventOf("a", "64", 1<<24+1), ` garbled`},
	{"no count", `data: {"index":0,"content":"a","tokens":[64],"stop":false}` + "\n\n", ` garbled`},
	{"progress", `data: {"index":0,"tokens":[0],"prompt_progress":{"total":1},"tokens_predicted":0}` + "\n\n", ` garbled`},
}

func TestLlamaCPPStreams(t *testing.T) { checkStreams(t, llamacpp{}, llamaStreams) }

func FuzzLlamaCPP(f *testing.F) { fuzzStreams(f, llamacpp{}, llamaStreams) }

func TestLlamaCPPCause(t *testing.T) {
	for _, tt := range []struct {
		e    Error
		want Cause
	}{
		{Error{Status: 400, Type: "exceed_context_size_error", Message: "request (9 tokens) exceeds …"}, ContextExceeded},
		{Error{Status: 400, Message: "Field 'n': Value must be between 1 <= value <= 1, but got 2"}, ChoicesRefused},
		{Error{Status: 400, Message: "Field 'temperature': type must be number"}, OtherCause},
		{Error{Status: 500, Type: "exceed_context_size_error"}, OtherCause},
	} {
		if got := (llamacpp{}).Cause(&tt.e); got != tt.want {
			t.Errorf("%+v: %d", tt.e, got)
		}
	}
}
