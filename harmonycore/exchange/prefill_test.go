package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// dividing is a gateway whose model has servers of a kind that read prompts.
func dividing(kind string, change func(*contract.Prefill)) *Gateway {
	return testGateway(func(o *Options) {
		m := &o.Models[0]
		m.Server, m.ServerExtras = kind, contract.KnownExtras()
		m.Prefill = contract.Prefill{Cluster: "readers-cluster", Pool: "readers", BootstrapPort: 8998,
			OnFailure: contract.PrefillDecode}
		if contract.KindNamed(kind).Prefill == contract.PrefillBootstrap {
			m.Prefill.OnFailure, m.Prefill.Servers = contract.PrefillRefuse, []string{"10.0.0.1:30000", "[fd00::2]:30001"}
		}
		if change != nil {
			change(&m.Prefill)
		}
	})
}

// bootstrapping is a host that chooses the last server, and a room with all its bits.
func bootstrapping() Host {
	return Host{Now: testNow, ID: testID, Scratch: &Scratch{}, Bootstrap: func(servers []string) (int, uint64) {
		return len(servers) - 1, 1<<64 - 1
	}}
}

// asked begins an exchange whose prompt another server is to read. It returns what both servers get.
func asked(t *testing.T, g *Gateway, h Host, body string) (x *Exchange, a RequestAction, forward, prefill string) {
	t.Helper()
	x = g.Begin("POST", "/v1/chat/completions")
	a = x.Request([]byte(body), h)
	if a.Forward == nil || a.Prefill == nil {
		t.Fatalf("got %+v", a)
	}
	forward = string(a.Forward.Body) // a host has copied it by now
	return x, a, forward, string(x.PrefillBody())
}

const remote = `{"do_remote_prefill":true,"remote_block_ids":[[1,2]],"remote_engine_id":"e\u00e9",` +
	`"remote_host":"10.0.0.7","remote_port":5600}`

// TestPrefillParams: the first server gets the prompt alone, and what it says goes to the other one byte for byte.
func TestPrefillParams(t *testing.T) {
	const body = `{"model":"gpt-oss-120b","cache_salt":"s","min_tokens":3,"temperature":0.5,` +
		`"messages":[{"role":"user","content":"Hi"}]}`
	for _, kind := range []string{contract.VLLM, contract.VLLMGenerate} {
		x, a, forward, prefill := asked(t, dividing(kind, nil), bootstrapping(), body)
		p := a.Prefill
		if !p.Awaited || p.Cluster != "readers-cluster" || p.Destination != "" || p.Path != a.Forward.Path ||
			p.TimeoutMS != testLimit || p.AbortPath != "" {
			t.Errorf("%s: the call is %+v", kind, p)
		}
		var sent struct {
			Stream   *bool `json:"stream"`
			MaxTok   int   `json:"max_tokens"`
			Sampling struct {
				MaxTok int  `json:"max_tokens"`
				Min    *int `json:"min_tokens"`
			} `json:"sampling_params"`
			Min     *int           `json:"min_tokens"`
			Options any            `json:"stream_options"`
			Salt    string         `json:"cache_salt"`
			Params  map[string]any `json:"kv_transfer_params"`
		}
		if err := json.Unmarshal([]byte(prefill), &sent); err != nil || sent.Stream == nil || *sent.Stream ||
			sent.MaxTok+sent.Sampling.MaxTok != 1 || sent.Min != nil || sent.Sampling.Min != nil || sent.Options != nil ||
			sent.Salt != "s" || sent.Params["do_remote_decode"] != true || sent.Params["do_remote_prefill"] != false {
			t.Errorf("%s: the call has %s, %v", kind, prefill, err)
		}
		if ids := forward[strings.Index(forward, "["):strings.Index(forward, "]")]; !strings.Contains(prefill, ids) {
			t.Errorf("%s: another prompt than %s is read: %s", kind, ids, prefill)
		}
		if x.Overdue(testNow + 10*testLimit) {
			t.Errorf("%s: the request is overdue while its prompt is read", kind)
		}
		done := x.Prefilled(PrefillAnswer{Status: 200, Body: []byte(`{"id":"x","kv_transfer_params": ` + remote + ` }`)})
		if !done.Resume || string(done.Rest) != `,"kv_transfer_params":`+remote+`}` || done.Reply != nil ||
			!json.Valid([]byte(forward+string(done.Rest))) {
			t.Errorf("%s: got %+v: %s", kind, done, forward+string(done.Rest))
		}
		r := x.Report()
		if r.Role != RoleDivided || r.Prefill != (PrefillReport{Pool: "readers", Server: "10.0.0.7",
			Result: PrefillDone}) || r.Pool != "gpus" {
			t.Errorf("%s: the report is %+v", kind, r)
		}
		if again := x.Prefilled(PrefillAnswer{Status: 200}); again.Resume || again.Reply != nil {
			t.Errorf("%s: a second answer does %+v", kind, again)
		}
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
		if x.ResponseBody([]byte("data: [DONE]\n\n"), true).Reply == nil {
			t.Errorf("%s: the answer is not read", kind)
		}
	}
}

// TestPrefillFails: what becomes of a request whose prompt was not read.
func TestPrefillFails(t *testing.T) {
	refuse := func(p *contract.Prefill) { p.OnFailure = contract.PrefillRefuse }
	const long = `{"error":{"message":"too long","type":"BadRequestError","param":"input_tokens","code":400}}`
	for _, tt := range []struct {
		name   string
		change func(*contract.Prefill)
		answer PrefillAnswer
		// status is the status of the client's error, or 0 if the other servers read the prompt. text is a part of it.
		status     int
		code, text string
	}{
		{"unreachable", nil, PrefillAnswer{Status: 503, Body: []byte("upstream connect error")}, 0, "", ""},
		{"late", nil, PrefillAnswer{Status: 504, Body: []byte("upstream request timeout")}, 0, "", ""},
		{"no headers", nil, PrefillAnswer{}, 0, "", ""},
		{"no params", nil, PrefillAnswer{Status: 200, Body: []byte(`{"id":"x","kv_transfer_params":null}`)}, 0, "", ""},
		{"params of another kind", nil, PrefillAnswer{Status: 200, Body: []byte(`{"kv_transfer_params":[1]}`)}, 0, "", ""},
		{"no JSON", nil, PrefillAnswer{Status: 200, Body: []byte(`{"kv_transfer_params":{}`)}, 0, "", ""},
		{"too large", nil, PrefillAnswer{Status: 200, TooLarge: true, Body: []byte(`{"kv_transfer_params":{}}`)}, 0, "", ""},
		{"too long a prompt", nil, PrefillAnswer{Status: 400, Body: []byte(long)}, 400, "context_length_exceeded",
			"too long"},
		{"refused", refuse, PrefillAnswer{Status: 503, RetryAfter: "7", Body: []byte(`{"error":{"message":"busy"}}`)}, 429,
			"server_overloaded", "The prompt was not read: busy"},
		{"refused, late", refuse, PrefillAnswer{Status: 504, Body: []byte("upstream request timeout")}, 504,
			"server_timeout", "The prompt was not read: the server that was asked to read it has not answered in time"},
		{"refused, no params", refuse, PrefillAnswer{Status: 200, Body: []byte(`{}`)}, 502, "server_error",
			"does not say where it keeps it"},
		{"refused, a wrong key", refuse, PrefillAnswer{Status: 401, Body: []byte(`{"error":"Unauthorized"}`)}, 502,
			"server_refused_credentials", "The prompt was not read: The inference server refuses the gateway's own"},
		{"refused, no headers", refuse, PrefillAnswer{}, 502, "server_error", "The prompt was not read"},
	} {
		x, _, forward, _ := asked(t, dividing(contract.VLLM, tt.change), bootstrapping(), chatBody(false))
		done := x.Prefilled(tt.answer)
		r := x.Report()
		if tt.status == 0 {
			if !done.Resume || string(done.Rest) != "}" || !json.Valid([]byte(forward+"}")) || r.Role != RoleDecode ||
				r.Prefill.Result != PrefillFellBack || r.Pool != "gpus" {
				t.Errorf("%s: got %+v, %+v", tt.name, done, r)
			}
			continue
		}
		if done.Resume || done.Reply == nil || done.Reply.Status != tt.status ||
			done.Reply.RetryAfter != tt.answer.RetryAfter || !strings.Contains(string(done.Reply.Body), tt.text) ||
			!strings.Contains(string(done.Reply.Body), `"code":"`+tt.code+`"`) {
			t.Errorf("%s: got %+v %s", tt.name, done, done.Reply.Body)
		}
		if r.Prefill.Result != PrefillFailed || r.Pool != "" || r.Translated || !x.PassesThrough() {
			t.Errorf("%s: the report is %+v", tt.name, r)
		}
	}
}

// TestPrefillAfterProxysAnswer: an answer that comes when the proxy has already answered the client changes nothing.
func TestPrefillAfterProxysAnswer(t *testing.T) {
	x, _, _, _ := asked(t, dividing(contract.VLLM, nil), bootstrapping(), chatBody(false))
	x.ResponseHeaders(ResponseHead{Status: 504, Local: true, ContentType: "text/plain"})
	if done := x.Prefilled(PrefillAnswer{Status: 200, Body: []byte(`{"kv_transfer_params":{}}`)}); done.Resume ||
		done.Reply != nil {
		t.Errorf("got %+v", done)
	}
	if r := x.Report(); r.Prefill.Result != PrefillLeft {
		t.Errorf("got %+v", r)
	}
}

// TestPrefillShort: a short prompt is no call. Host and kind are not asked.
func TestPrefillShort(t *testing.T) {
	g := dividing(contract.VLLM, func(p *contract.Prefill) { p.MinTokens = 1000 })
	x := g.Begin("POST", "/v1/chat/completions")
	a := x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID})
	if a.Forward == nil || a.Prefill != nil || !json.Valid(a.Forward.Body) || x.PrefillBody() != nil {
		t.Fatalf("got %+v", a)
	}
	if r := x.Report(); r.Role != RoleDecode || r.Prefill != (PrefillReport{Pool: "readers", Result: PrefillShort,
		Time: -1}) {
		t.Errorf("got %+v", r)
	}
}

// TestPrefillBootstrap: both servers get the same request, with the place where they meet.
func TestPrefillBootstrap(t *testing.T) {
	for _, kind := range []string{contract.SGLang, contract.SGLangCompletions} {
		x, a, forward, prefill := asked(t, dividing(kind, nil), bootstrapping(), chatBody(true))
		const place = `,"rid":"` + testID + `","bootstrap_host":"[fd00::2]","bootstrap_port":8998,` +
			`"bootstrap_room":9223372036854775807}`
		if forward != prefill || !strings.HasSuffix(forward, place) || !json.Valid([]byte(forward)) {
			t.Errorf("%s: got %s\nand %s", kind, forward, prefill)
		}
		if p := a.Prefill; p.Awaited || p.Destination != "[fd00::2]:30001" || p.AbortPath != "/abort_request" ||
			string(p.AbortBody) != `{"rid":"`+testID+`"}` {
			t.Errorf("%s: the call is %+v", kind, p)
		}
		if r := x.Report(); r.Prefill != (PrefillReport{Pool: "readers", Server: "[fd00::2]:30001", Result: PrefillLeft,
			Time: -1}) || r.Role != RoleDivided {
			t.Errorf("%s: got %+v", kind, r)
		}
		done := x.Prefilled(PrefillAnswer{Status: 200, Body: []byte("data: [DONE]\n\n")})
		if done.Resume || done.Reply != nil || x.Report().Prefill.Result != PrefillDone {
			t.Errorf("%s: got %+v", kind, done)
		}
	}
}

// TestPrefillBootstrapFails: if the server that reads the prompt fails, the client learns it at once. The other server
// would wait for it.
func TestPrefillBootstrapFails(t *testing.T) {
	const event = `data: {"error":{"message":"no memory","type":"x","code":503,"retryable":false}}` + "\n\n"
	for _, tt := range []struct {
		name   string
		answer PrefillAnswer
		status int
		text   string
	}{
		{"unreachable", PrefillAnswer{Status: 503, Body: []byte("no healthy upstream")}, 503, "server_unavailable"},
		{"an error", PrefillAnswer{Status: 400, Body: []byte(`{"error":{"message":"longer than the model's context ` +
			`length (8 tokens)"}}`)}, 400, "context_length_exceeded"},
		{"an event", PrefillAnswer{Status: 200, Body: []byte(event)}, 429, "no memory"},
		{"an abort", PrefillAnswer{Status: 200, Body: []byte(`data: {"text":"","output_ids":[],"meta_info":{"id":"a",` +
			`"finish_reason":{"type":"abort","message":"KVTransferError","status_code":500},"prompt_tokens":1,` +
			`"completion_tokens":0}}` + "\n\n")}, 500, "KVTransferError"},
	} {
		for _, headers := range []bool{false, true} {
			x, _, _, _ := asked(t, dividing(contract.SGLang, nil), bootstrapping(), chatBody(true))
			if headers {
				x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
			}
			done := x.Prefilled(tt.answer)
			if done.Reply == nil || done.Reply.Status != tt.status || !strings.Contains(string(done.Reply.Body), tt.text) {
				t.Errorf("%s: got %+v", tt.name, done)
				continue
			}
			if r := x.Report(); r.Prefill.Result != PrefillFailed || r.Pool != "gpus" || r.Finish != FinishError ||
				!x.PassesThrough() {
				t.Errorf("%s: the report is %+v", tt.name, r)
			}
		}
	}
	// An answer after the first token is too late to matter.
	x, _, _, _ := asked(t, dividing(contract.SGLang, nil), bootstrapping(), chatBody(true))
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	x.ResponseBody([]byte(`data: {"text":"","output_ids":[200005],"meta_info":{"id":"a","finish_reason":null,`+
		`"prompt_tokens":1,"completion_tokens":1}}`+"\n\n"), false)
	if done := x.Prefilled(PrefillAnswer{Status: 503}); done.Reply != nil {
		t.Errorf("got %+v", done)
	}
}

// TestPrefillRefusals: what cannot be had of servers that share the work.
func TestPrefillRefusals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   string
		change func(*contract.Prefill)
		host   Host
		body   string
		want   string
	}{
		{"choices", contract.VLLM, nil, bootstrapping(),
			`{"model":"gpt-oss-120b","n":2,"messages":[{"role":"user","content":"a"}]}`,
			`"param":"n","code":"choices_not_supported"`},
		{"no servers", contract.SGLang, func(p *contract.Prefill) { p.Servers = nil }, bootstrapping(), chatBody(true),
			`"code":"server_unavailable"`},
		{"a host without calls", contract.VLLM, nil, Host{Now: testNow, ID: testID}, chatBody(true),
			`"code":"gateway_misconfigured"`},
	} {
		g := dividing(tt.kind, tt.change)
		g.models[0].Answers.MaxChoices = 8
		x := g.Begin("POST", "/v1/chat/completions")
		a := x.Request([]byte(tt.body), tt.host)
		if a.Reply == nil || a.Forward != nil || a.Prefill != nil || !strings.Contains(string(a.Reply.Body), tt.want) {
			t.Errorf("%s: got %+v", tt.name, a)
		}
	}
}

// TestPrefillKeepsNothing: what a prefill server answers, up to a megabyte, is not kept for as long as the answer runs.
func TestPrefillKeepsNothing(t *testing.T) {
	h := bootstrapping()
	x, _, _, _ := asked(t, dividing(contract.VLLM, nil), h, chatBody(true))
	done := x.Prefilled(PrefillAnswer{Status: 200, Body: []byte(`{"kv_transfer_params":` + remote + `}`)})
	if len(done.Rest) == 0 || &done.Rest[0] != &h.Scratch.body[0] {
		t.Errorf("the rest of the body lies in memory of its own: %+v", done)
	}
}
