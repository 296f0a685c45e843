//go:build e2e

package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// oddCall is a call whose arguments, and a word of whose reasoning, the model has spelled byte by byte.
func oddCall() (ids []uint32) {
	bytewise := func(text string) {
		for i := range len(text) {
			ids = lab.Vocabulary.AppendEncode(ids, text[i:i+1])
		}
	}
	ids = lab.Vocabulary.AppendEncodeSpecial(ids, "<|channel|>analysis<|message|>I ")
	bytewise("look")
	ids = lab.Vocabulary.AppendEncodeSpecial(ids, " it up.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather"+
		" <|constrain|>json<|message|>")
	bytewise(`{"location": "Zürich"}`)
	return lab.Vocabulary.AppendEncodeSpecial(ids, "<|call|>")
}

// oddGateway is a host before a simulated server whose model makes odd calls only.
func oddGateway(t *testing.T, tokenIDs bool, run func(*testing.T, *config.Config) *hosts.Host) (*hosts.Host, *sim.Server) {
	t.Helper()
	script := sim.NewScript(slices.Repeat([]sim.Line{{Tokens: oddCall()}}, 3*turnSteps)...)
	server, url := lab.RunSim(t, sim.Options{Kind: contract.VLLM, Script: script, TokensPerChunk: 3})
	c := lab.OneModel(url)
	c.Models[0].Answers.TokenIDs, c.Models[0].System.Date = tokenIDs, lab.Date
	return run(t, c), server
}

// TestTurnsAsTheModelWroteThem: on both hosts an agent sends back what it got, with the ids of the tokens. Each prompt
// begins with the last one and what the model has written, to the id.
func TestTurnsAsTheModelWroteThem(t *testing.T) {
	for name, run := range map[string]func(*testing.T, *config.Config) *hosts.Host{
		"wazero": func(t *testing.T, c *config.Config) *hosts.Host { t.Helper(); return lab.RunWazero(t, c) },
		"envoy":  func(t *testing.T, c *config.Config) *hosts.Host { t.Helper(); return lab.RunEnvoy(t, c) },
	} {
		t.Run(name, func(t *testing.T) {
			traced, server := oddGateway(t, true, run)
			chatTurns(t, traced.URL, server)
			responsesTurns(t, traced.URL, server, "")
			sampled, server := oddGateway(t, false, run)
			responsesTurns(t, sampled.URL, server, `,"include":["turn.sampled_ids"]`)
		})
	}
}

const turnSteps = 3

func chatTurns(t *testing.T, url string, server *sim.Server) {
	t.Helper()
	before := len(server.Requests())
	messages := []json.RawMessage{json.RawMessage(`{"role":"user","content":"Hi"}`)}
	for range turnSteps {
		a := lab.Ask(lab.HTTP1(t), url+lab.ChatPath, fmt.Sprintf(`{"model":%q,"messages":%s,"tools":[%s}}]}`, lab.Model,
			mustEncode(t, messages), fmt.Sprintf(tracedTool, `"function":{`)))
		var answer struct {
			Choices []struct{ Message json.RawMessage }
		}
		var message struct {
			ToolCalls []struct{ ID string } `json:"tool_calls"`
		}
		if err := json.Unmarshal([]byte(a.Body), &answer); err != nil || len(answer.Choices) != 1 {
			t.Fatalf("%v in %s", err, a.Body)
		}
		if err := json.Unmarshal(answer.Choices[0].Message, &message); err != nil || len(message.ToolCalls) != 1 {
			t.Fatalf("%v in %s", err, a.Body)
		}
		messages = append(messages, answer.Choices[0].Message,
			json.RawMessage(fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"rain"}`, message.ToolCalls[0].ID)))
	}
	checkTurns(t, server, before)
}

func responsesTurns(t *testing.T, url string, server *sim.Server, options string) {
	t.Helper()
	before := len(server.Requests())
	input := []json.RawMessage{json.RawMessage(`{"role":"user","content":"Hi"}`)}
	for step := range turnSteps {
		a := lab.Ask(lab.HTTP1(t), url+lab.ResponsesPath, fmt.Sprintf(`{"model":%q,"stream":%t,"input":%s,"tools":[%s}]%s}`,
			lab.Model, step%2 == 0, mustEncode(t, input), fmt.Sprintf(tracedTool, ""), options))
		events := strings.Split(strings.TrimSpace(a.Body), "\n\n")
		last := events[len(events)-1]
		if _, data, isEvent := strings.Cut(last, "data: "); isEvent {
			last = data
		}
		var answer struct {
			Output   []json.RawMessage
			Response struct{ Output []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(last), &answer); err != nil {
			t.Fatalf("%v in %s", err, a.Body)
		}
		items := append(answer.Output, answer.Response.Output...)
		var call struct {
			CallID string `json:"call_id"`
		}
		if len(items) == 0 || json.Unmarshal(items[len(items)-1], &call) != nil || call.CallID == "" {
			t.Fatalf("no call in %s", a.Body)
		}
		input = append(append(input, items...),
			json.RawMessage(fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"rain"}`, call.CallID)))
	}
	checkTurns(t, server, before)
}

// checkTurns compares each prompt that the server got with the one before it and what was sampled after that.
func checkTurns(t *testing.T, server *sim.Server, before int) {
	t.Helper()
	requests := server.Requests()[before:]
	if len(requests) != turnSteps {
		t.Fatalf("the server got %d requests", len(requests))
	}
	result := lab.Vocabulary.AppendEncodeSpecial(nil, "<|start|>functions.get_weather to=assistant<|channel|>commentary"+
		"<|message|>rain<|end|><|start|>assistant")
	for i := 1; i < len(requests); i++ {
		want := slices.Concat(requests[i-1].PromptIDs, oddCall(), result)
		if err := lab.SameIDs(requests[i].PromptIDs, want); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
}
