//go:build e2e

package suite

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// tracedKinds are the kinds of servers that can say which tokens they have generated, and how likely each was.
var tracedKinds = []string{contract.VLLM, contract.VLLMGenerate, contract.VLLMLegacy, contract.SGLang, contract.Chat}

const (
	tracedFinal = "<|channel|>analysis<|message|>Think 👩‍👧.<|end|><|start|>assistant<|channel|>final<|message|>Hé 🪿!<|return|>"
	tracedCall  = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather " +
		"<|constrain|>json<|message|>{\"location\":\"Zürich\"}<|call|>"
	tracedTool = `{"type":"function",%s"name":"get_weather","parameters":{"type":"object","properties":` +
		`{"location":{"type":"string"}}}`
)

// tracedGateway is a host before a simulated server, whose answers have the ids of their tokens.
type tracedGateway struct {
	*testing.T
	host   *hosts.Host
	client *http.Client
	server *sim.Server
	seen   int
	// answers are all ids that the server has sampled, for the reference, and messages what clients got of them.
	answers  [][]uint32
	messages [][]lab.ReferenceMessage
}

func newTracedGateway(t *testing.T, kind string, answers []string, run func(*testing.T,
	*config.Config) *hosts.Host) *tracedGateway {
	t.Helper()
	var script strings.Builder
	for _, text := range answers {
		line, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		script.Write(append(line, '\n'))
	}
	read, err := sim.ReadScript(strings.NewReader(script.String()), lab.Vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	server, url := lab.RunSim(t, sim.Options{Kind: kind, Script: read, TokensPerChunk: 3})
	c := lab.OneModel(url)
	c.Models[0] = config.DefaultModel(lab.Model, kind+"="+url)
	c.Models[0].Answers.TokenIDs = true
	if kind != contract.Chat { // their template writes the date
		c.Models[0].System.Date = lab.Date
	}
	return &tracedGateway{T: t, host: run(t, c), client: lab.HTTP1(t), server: server}
}

// tracedMembers are the ids and logprobs of a message or an item.
type tracedMembers struct {
	Prompt   []uint32  `json:"prompt_token_ids"`
	Sampled  []uint32  `json:"generation_token_ids"`
	Logprobs []float64 `json:"generation_log_probs"`
}

// ask sends a request and returns the answer, which is folded if it is a stream of Responses.
func (g *tracedGateway) ask(path, body string) string {
	g.Helper()
	a := lab.Ask(g.client, g.host.URL+path, body)
	if a.Status != http.StatusOK {
		g.Fatalf("%s: %d %s", g.host.Name, a.Status, a.Body)
	}
	return a.Body
}

// check compares what a client got with what the server got and sampled, and keeps both for the reference.
func (g *tracedGateway) check(got tracedMembers, messages []lab.ReferenceMessage) {
	g.Helper()
	requests := g.server.Requests()
	if len(requests) != g.seen+1 {
		g.Fatalf("%s: the server got %d requests, want %d", g.host.Name, len(requests), g.seen+1)
	}
	g.seen++
	r := requests[g.seen-1]
	likely := make([]float64, len(r.SampledIDs))
	for at := range likely {
		likely[at] = -0.125 - 0.75*float64(at%4) // as the simulated server has it
	}
	if !slices.Equal(got.Prompt, r.PromptIDs) || !slices.Equal(got.Sampled, r.SampledIDs) ||
		!slices.Equal(got.Logprobs, likely) || len(r.SampledIDs) == 0 {
		g.Errorf("%s: the client got %v, the server has %v and %v", g.host.Name, got, r.PromptIDs, r.SampledIDs)
	}
	g.answers, g.messages = append(g.answers, got.Sampled), append(g.messages, messages)
}

// compareWithReference compares what clients got with what openai-harmony reads in the ids.
func (g *tracedGateway) compareWithReference() {
	g.Helper()
	for i, read := range lab.ReadByReference(g.T, g.answers) {
		if !reflect.DeepEqual(read, g.messages[i]) {
			g.Errorf("%s: the client got %v, and openai-harmony reads %v", g.host.Name, g.messages[i], read)
		}
	}
}

// tracedChat reads a Chat answer, whole or as a stream.
func tracedChat(t *testing.T, body string) (ids tracedMembers, messages []lab.ReferenceMessage) {
	t.Helper()
	type part struct {
		tracedMembers
		Content, Reasoning string
		ToolCalls          []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	reasoning, content, name, arguments, found := "", "", "", "", 0
	for event := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		event = strings.TrimPrefix(event, "data: ")
		var chunk struct {
			Choices []struct{ Message, Delta part }
		}
		if event == "[DONE]" {
			continue
		}
		if err := json.Unmarshal([]byte(event), &chunk); err != nil {
			t.Fatalf("%v in %s", err, event)
		}
		for _, c := range chunk.Choices {
			for _, p := range []part{c.Message, c.Delta} {
				reasoning, content = reasoning+p.Reasoning, content+p.Content
				for _, call := range p.ToolCalls {
					name, arguments = name+call.Function.Name, arguments+call.Function.Arguments
				}
				if p.Prompt != nil {
					ids = p.tracedMembers
					found++
				}
			}
		}
	}
	if found != 1 {
		t.Errorf("the ids stand in %d places of %s", found, body)
	}
	return ids, readMessages(reasoning, content, name, arguments)
}

func readMessages(reasoning, content, name, arguments string) (messages []lab.ReferenceMessage) {
	if reasoning != "" {
		messages = append(messages, lab.ReferenceMessage{Channel: "analysis", Text: reasoning})
	}
	if content != "" {
		messages = append(messages, lab.ReferenceMessage{Channel: "final", Text: content})
	}
	if name != "" {
		messages = append(messages, lab.ReferenceMessage{Channel: "commentary", Recipient: "functions." + name,
			Text: arguments})
	}
	return messages
}

// tracedItem is an item of a response.
type tracedItem struct {
	tracedMembers
	Type, Name, Arguments string
	CallID                string `json:"call_id"`
	Content               []struct{ Text string }
}

// tracedResponse reads a response, whole or at the end of a stream. raw are the items as they came.
func tracedResponse(t *testing.T, body string) (ids tracedMembers, messages []lab.ReferenceMessage,
	raw []json.RawMessage) {
	t.Helper()
	events := strings.Split(strings.TrimSpace(body), "\n\n")
	last := events[len(events)-1]
	if _, data, isEvent := strings.Cut(last, "data: "); isEvent {
		last = data
	}
	var answer struct {
		Output   []json.RawMessage
		Response struct{ Output []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(last), &answer); err != nil {
		t.Fatal(err)
	}
	raw = append(answer.Output, answer.Response.Output...)
	for i := range raw {
		var item tracedItem
		if err := json.Unmarshal(raw[i], &item); err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, part := range item.Content {
			text += part.Text
		}
		switch item.Type {
		case "reasoning":
			messages = append(messages, readMessages(text, "", "", "")...)
		case "message":
			messages = append(messages, readMessages("", text, "", "")...)
		default:
			messages = append(messages, readMessages("", "", item.Name, item.Arguments)...)
		}
		if (item.Prompt != nil) != (i == len(raw)-1) {
			t.Errorf("item %d of %d: %s", i, len(raw), raw[i])
		}
		ids = item.tracedMembers
	}
	return ids, messages, raw
}

// runTraced runs a test before servers of every kind that can trace tokens: natively, and before vLLM and servers that
// take conversations also under wazero and on Envoy.
func runTraced(t *testing.T, answers []string, test func(t *testing.T, kind string, g *tracedGateway)) {
	for _, kind := range tracedKinds {
		t.Run(kind, func(t *testing.T) {
			places := []func(*testing.T, *config.Config) *hosts.Host{lab.RunNative}
			if kind == contract.VLLM || kind == contract.Chat {
				places = append(places,
					func(t *testing.T, c *config.Config) *hosts.Host { t.Helper(); return lab.RunWazero(t, c) },
					func(t *testing.T, c *config.Config) *hosts.Host { t.Helper(); return lab.RunEnvoy(t, c) })
			}
			for _, run := range places {
				g := newTracedGateway(t, kind, answers, run)
				test(t, kind, g)
				g.compareWithReference()
			}
		})
	}
}

// TestTokenIDs: the ids that clients get are those that the server got and sampled, the logprobs are the server's, and
// openai-harmony reads the same messages in the ids as the client got.
func TestTokenIDs(t *testing.T) {
	runTraced(t, slices.Repeat([]string{tracedFinal, tracedCall}, 4), func(t *testing.T, _ string, g *tracedGateway) {
		for _, stream := range []bool{false, true} {
			for range 2 { // the answer, and then the call
				body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Hi"}],"tools":[%s}}]}`,
					lab.Model, stream, fmt.Sprintf(tracedTool, `"function":{`))
				ids, messages := tracedChat(t, g.ask(lab.ChatPath, body))
				g.check(ids, messages)
			}
			for range 2 {
				body := fmt.Sprintf(`{"model":%q,"stream":%t,"input":"Hi","tools":[%s}]}`, lab.Model, stream,
					fmt.Sprintf(tracedTool, ""))
				ids, messages, _ := tracedResponse(t, g.ask(lab.ResponsesPath, body))
				g.check(ids, messages)
			}
		}
	})
}

// TestTokenIDsComeBack: over several turns a client sends all items back as they came. Servers that take conversations
// get the ids and logprobs of each turn unchanged, on the message of that turn. For a Harmony model's prompt see
// [TestTurnsAsTheModelWroteThem].
func TestTokenIDsComeBack(t *testing.T) {
	runTraced(t, []string{tracedCall, tracedFinal, tracedCall, tracedFinal, tracedFinal},
		func(t *testing.T, kind string, g *tracedGateway) {
			input := []json.RawMessage{json.RawMessage(`{"role":"user","content":"Hi"}`)}
			var turns []json.RawMessage // the last item of each turn
			for turn := range 4 {
				body := fmt.Sprintf(`{"model":%q,"stream":%t,"input":%s,"tools":[%s}]}`, lab.Model, turn%2 == 1,
					mustEncode(t, input), fmt.Sprintf(tracedTool, ""))
				ids, messages, items := tracedResponse(t, g.ask(lab.ResponsesPath, body))
				g.check(ids, messages)
				input, turns = append(input, items...), append(turns, items[len(items)-1])
				var last tracedItem
				if err := json.Unmarshal(items[len(items)-1], &last); err != nil {
					t.Fatal(err)
				}
				next := `{"role":"user","content":"And?"}`
				if last.CallID != "" {
					next = fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"rain"}`, last.CallID)
				}
				input = append(input, json.RawMessage(next))
			}
			body := fmt.Sprintf(`{"model":%q,"input":%s,"tools":[%s}]}`, lab.Model, mustEncode(t, input),
				fmt.Sprintf(tracedTool, ""))
			ids, messages, _ := tracedResponse(t, g.ask(lab.ResponsesPath, body))
			g.check(ids, messages)
			sent := g.server.Requests()[g.seen-1].Body
			if kind == contract.Chat {
				checkCarried(t, sent, turns)
			} else if strings.Contains(string(sent), "generation_token_ids") {
				t.Errorf("the server got %s", sent)
			}
		})
}

// TestManyTokenIDs fills most of a context, on Envoy and under wazero: the client gets every id and logprob, and can
// send them back.
func TestManyTokenIDs(t *testing.T) {
	answer := "<|channel|>final<|message|>" + strings.Repeat(" word", 20_000) + "<|return|>"
	for _, run := range []func(*testing.T, *config.Config) *hosts.Host{
		func(t *testing.T, c *config.Config) *hosts.Host { t.Helper(); return lab.RunWazero(t, c) },
		func(t *testing.T, c *config.Config) *hosts.Host { t.Helper(); return lab.RunEnvoy(t, c) },
	} {
		g := newTracedGateway(t, contract.VLLM, []string{answer, tracedFinal}, func(t *testing.T,
			c *config.Config) *hosts.Host {
			t.Helper()
			c.BodyLimit = 8 << 20
			return run(t, c)
		})
		asked := `{"role":"user","content":"` + strings.Repeat("word ", 90_000) + `"}`
		ids, messages, items := tracedResponse(t, g.ask(lab.ResponsesPath,
			fmt.Sprintf(`{"model":%q,"stream":true,"input":[%s]}`, lab.Model, asked)))
		g.check(ids, messages)
		ids, messages, _ = tracedResponse(t, g.ask(lab.ResponsesPath, fmt.Sprintf(
			`{"model":%q,"stream":true,"input":[{"role":"user","content":"Hi"},%s,{"role":"user","content":"And?"}]}`,
			lab.Model, items[0])))
		g.check(ids, messages)
		g.compareWithReference()
	}
}

// checkCarried compares the ids of the assistant's messages in a Chat request with the turns' ids.
func checkCarried(t *testing.T, sent []byte, turns []json.RawMessage) {
	t.Helper()
	type exact struct {
		Role     string
		Prompt   json.RawMessage `json:"prompt_token_ids"`
		Sampled  json.RawMessage `json:"generation_token_ids"`
		Logprobs json.RawMessage `json:"generation_log_probs"`
	}
	var request struct{ Messages []exact }
	if err := json.Unmarshal(sent, &request); err != nil {
		t.Fatal(err)
	}
	carried := slices.DeleteFunc(request.Messages, func(m exact) bool { return m.Role != "assistant" })
	if len(carried) != len(turns) {
		t.Fatalf("%d messages of the assistant for %d turns in %s", len(carried), len(turns), sent)
	}
	for i := range turns {
		want := exact{Role: "assistant"}
		if err := json.Unmarshal(turns[i], &want); err != nil {
			t.Fatal(err)
		}
		want.Role = "assistant"
		if !reflect.DeepEqual(carried[i], want) || len(want.Logprobs) == 0 {
			t.Errorf("turn %d came back as %s, and was %s", i, mustEncode(t, carried[i]), turns[i])
		}
	}
}
