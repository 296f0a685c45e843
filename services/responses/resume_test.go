package responses

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/sim"
)

// resumable are a service and the gateway's core, before simulated servers that die in the middle of answers.
type resumable struct {
	*fixture
	server *sim.Server
}

const (
	resumeThoughts = "<|channel|>analysis<|message|>" + resumeWords + "<|end|><|start|>assistant"
	resumeWords    = "The user asks for a long and careful answer, so each sentence 👩‍👧 must be weighed: first the facts, " +
		"then what follows from them, and only then the advice. I recall the numbers 3, 14 and 159 and check them twice " +
		"before I write anything down. Nothing of this may be lost, and nothing may be said twice. The reader is in a hurry."
	resumeFinal = "<|channel|>final<|message|># Answer\n\nFirst the facts: 中文, emoji 🎉🎉 and `code`. What follows is this list:\n\n" +
		"- one\n- two\n- three\n\nAnd so the advice is to begin at once, to go on without haste and to stop at the END of " +
		"the road, where everything that comes later is cut off by the stop sequence.<|return|>"
	resumeCall = "<|channel|>commentary<|message|>I look it up.<|end|><|start|>assistant<|channel|>commentary " +
		"to=functions.lookup <|constrain|>json<|message|>{\"query\":\"facts about 👩‍👧 and numbers\",\"limit\":12}<|call|>"
)

// resumeNone is the place at which nothing is cut.
const resumeNone = 999

// startResumable starts them. Each place at which an answer is cut has a line of the script.
func startResumable(t *testing.T, answer string, places []int, fault sim.FaultKind, model string,
	first ...sim.Line) *resumable {
	t.Helper()
	const key = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	t.Setenv(contract.SealKeysVariable, key)
	keys, err := seal.ParseKeys(os.Getenv(contract.SealKeysVariable))
	if err != nil {
		t.Fatal(err)
	}
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, answer)
	lines := first
	for _, place := range append(slices.Clone(places), resumeNone) {
		line := sim.Line{Match: fmt.Sprintf("cut at %03d.", place), Tokens: ids, Continues: true}
		if place != resumeNone {
			line.Fault = &sim.Fault{Kind: fault, After: place}
		}
		lines = append(lines, line)
	}
	server := sim.New(sim.Options{Models: []string{"m"}, Script: sim.NewScript(lines...), Keep: 10,
		AnyPrompt: true}) // a prompt may end within a header
	t.Cleanup(server.Close)
	url, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("h.yaml", []byte("responses_service: {store: r.db}\nmodels:\n  - name: m\n    relay: resume\n"+
		"    servers: ['vllm="+url+"']\n"+model))
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := hosts.Native(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Stop)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	r := &resumable{server: server, fixture: start(t, Options{SealKeys: keys, Log: log,
		Settings: settings.Settings{Models: c.Filter().Models}})}
	r.change(func(s *Settings) { s.Gateway = gateway.URL })
	return r
}

// stream asks for an answer that is cut at a place, and returns all of it without what differs each time.
func (r *resumable) stream(path, members string, place int) string {
	r.t.Helper()
	status, body := r.do("POST", path, strings.ReplaceAll(members, "PLACE", fmt.Sprintf("cut at %03d.", place)))
	if status != 200 {
		r.t.Fatalf("cut at %d: %d %s", place, status, body)
	}
	return steady(body)
}

var unsteady = regexp.MustCompile(`((resp|rs|msg|fc|call|chatcmpl|toolu)[_-])[0-9a-z]+|("(?:created|created_at|completed_at)": ?)[0-9]+` +
	`|("(?:encrypted_content|signature)": ?")[^"]*`)

// steady leaves out ids, times and nonces.
func steady(body string) string { return unsteady.ReplaceAllString(body, "$1$3$4") }

// resumeAsks are requests of each API.
var resumeAsks = map[string]struct{ path, members string }{
	"responses": {contract.ResponsesPath, `{"model":"m","stream":true,"store":false,"temperature":0,"top_logprobs":2,` +
		`"include":["message.output_text.logprobs"],"input":"PLACE"}`},
	"responses whole": {contract.ResponsesPath, `{"model":"m","store":true,"temperature":0,"input":"PLACE"}`},
	"chat": {contract.ChatPath, `{"model":"m","stream":true,"temperature":0,"logprobs":true,"top_logprobs":2,` +
		`"stop":["END of"],"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"PLACE"}]}`},
	"messages": {contract.MessagesPath, `{"model":"m","stream":true,"temperature":0,` +
		`"stop_sequences":["END of"],"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":2048,` +
		`"messages":[{"role":"user","content":"PLACE"}]}`},
}

// TestResumeEverywhere lets servers die after each token of an answer with reasoning, text, logprobs and a stop
// sequence, and of one with a preamble and a call. What the client gets is what one server would have given it.
func TestResumeEverywhere(t *testing.T) {
	step := 23
	if os.Getenv("HARMONY_RESUME_ALL") != "" {
		step = 1
	}
	const tools = `"tools":[{"type":"function","function":{"name":"lookup","parameters":{"type":"object"}}}],`
	const flat = `"tools":[{"type":"function","name":"lookup","parameters":{"type":"object"}}],`
	const anthropic = `"tools":[{"name":"lookup","input_schema":{"type":"object"}}],`
	for _, tt := range []struct {
		name, text string
		tools      map[string]string
		fault      sim.FaultKind
	}{
		{"text", resumeThoughts + resumeFinal, nil, sim.FaultClose},
		{"call", resumeThoughts + resumeCall, map[string]string{"chat": tools, "responses": flat,
			"responses whole": flat, "messages": anthropic}, sim.FaultReset},
		{"aborted", resumeThoughts + resumeFinal, nil, sim.FaultAbort},
		{"error", resumeThoughts + resumeCall, map[string]string{"chat": tools, "responses": flat}, sim.FaultErrorEvent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ids := o200k.Tokenizer().AppendEncodeSpecial(nil, tt.text)
			var places []int
			for at := 1; at < len(ids); at += step {
				places = append(places, at)
			}
			r := startResumable(t, tt.text, places, tt.fault, "")
			for api, ask := range resumeAsks {
				members := strings.Replace(ask.members, `"temperature":0,`, `"temperature":0,`+tt.tools[api], 1)
				want := r.stream(ask.path, members, resumeNone)
				for _, place := range places {
					if got := r.stream(ask.path, members, place); got != strings.ReplaceAll(want, "999", fmt.Sprintf("%03d", place)) &&
						got != want {
						t.Fatalf("%s, cut after %d of %d:\n%s", api, place, len(ids), firstDifference(got, want))
					}
				}
				t.Logf("%s: %d places, %d bytes", api, len(places), len(want))
			}
		})
	}
	t.Run("websocket", resumeOverWebSocket)
}

// firstDifference shows where two streams begin to differ.
func firstDifference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(at-300, 0)
	return got[from:min(len(got), at+500)] + "\nwant\n" + want[from:min(len(want), at+500)]
}

// TestResumeInBackground cuts responses that are made in the background.
func TestResumeInBackground(t *testing.T) {
	places := []int{1, 40, 100, 180}
	if os.Getenv("HARMONY_RESUME_ALL") != "" {
		places = nil
		for at := 1; at < len(o200k.Tokenizer().AppendEncodeSpecial(nil, resumeThoughts+resumeFinal)); at++ {
			places = append(places, at)
		}
	}
	r := startResumable(t, resumeThoughts+resumeFinal, places, sim.FaultClose, "")
	want := ""
	for _, place := range append([]int{resumeNone}, places...) {
		id := r.create(fmt.Sprintf(`"background":true,"input":"cut at %03d."`, place))
		var o struct {
			Status string
			Output json.RawMessage
			Usage  json.RawMessage
		}
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			_, body := r.do("GET", contract.ResponsesPath+"/"+id, "")
			if err := json.Unmarshal([]byte(body), &o); err != nil {
				t.Fatal(err)
			}
			if o.Status != "in_progress" && o.Status != "queued" || time.Now().After(end) {
				break
			}
		}
		got := steady(o.Status + " " + string(o.Output) + string(o.Usage))
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("cut after %d:\n%s", place, firstDifference(got, want))
		}
	}
}

// TestResumeRefused: an answer that cannot be handed over ends as it would with retry, and the reason is counted.
func TestResumeRefused(t *testing.T) {
	r := startResumable(t, resumeFinal, []int{30}, sim.FaultClose, "")
	status, body := r.do("POST", contract.ResponsesPath,
		`{"model":"m","stream":true,"store":false,"presence_penalty":0.5,"input":"cut at 030."}`)
	if status != 200 || !strings.Contains(body, "event: response.failed") {
		t.Errorf("%d %s", status, body)
	}
	counted := series(t, r.s)
	if counted["resumed_total{api=responses,outcome=refused}"] != 1 ||
		counted["resumed_total{api=responses,outcome=resumed}"] != 0 {
		t.Errorf("%v", counted)
	}
}

// TestAskedForFinal: a model whose reasoning repeats itself is asked for its answer, and its client reads one stream.
func TestAskedForFinal(t *testing.T) {
	const final = "<|channel|>final<|message|>"
	answer := sim.Line{Match: final, Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, "Yes.<|return|>")}
	again := strings.Repeat(" I should check that again. Wait,", 40)
	thoughts := resumeThoughts[:strings.Index(resumeThoughts, "<|end|>")]
	r := startResumable(t, thoughts+again+"<|end|>", nil, "", "    repetition_detection: { reasoning: final }\n", answer)
	for api, ask := range resumeAsks {
		members := strings.NewReplacer(`"top_logprobs":2,`, "", `"logprobs":true,`, "",
			`"include":["message.output_text.logprobs"],`, "").Replace(ask.members)
		got := r.stream(ask.path, members, resumeNone)
		for _, want := range map[string][]string{
			"responses":       {"event: response.completed", `"text":"Yes."`},
			"responses whole": {`"status":"completed"`, `"text":"Yes."`},
			"chat":            {`"content":"Yes"`, `"finish_reason":"stop"`, "[DONE]"},
			"messages":        {`"type":"text_delta","text":"Yes"`, `"stop_reason":"end_turn"`, "message_stop"},
		}[api] {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in %s", api, want, got)
			}
		}
		if strings.Contains(got, "repetition_detected") || strings.Contains(got, "relay") {
			t.Errorf("%s: got %s", api, got)
		}
	}
	if counted := series(t, r.s); counted["resumed_total{api=chat,outcome=final}"] != 1 ||
		counted["resumed_total{api=chat,outcome=moved}"] != 0 {
		t.Errorf("%v", counted)
	}
}
