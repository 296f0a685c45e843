package exchange

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// untranslating returns a gateway whose only model has this setting of translate.
func untranslating(translate string, change func(*Options)) *Gateway {
	return testGateway(func(o *Options) {
		o.Models[0].Translate, o.Models[0].APIPath = translate, contract.DefaultAPIPath
		if change != nil {
			change(o)
		}
	})
}

func chatRequest(model string) string {
	return `{ "messages":[{"role":"user","content":"Hi"}], "model":"` + model + `"}`
}

// TestShareIsEven checks that a share of the requests is translated, also if their ids are alike.
func TestShareIsEven(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, id := range map[string]func(i int) string{
		"counted": func(i int) string { return fmt.Sprintf("%032d", i) },
		"random":  func(int) string { return fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()) },
		"in hex":  func(i int) string { return fmt.Sprintf("0123456789abcdef%016x", i<<20) },
	} {
		for _, percent := range []int{0, 1, 10, 50, 99, 100} {
			const all = 20_000
			n := 0
			for i := range all {
				if inShare(id(i), percent) {
					n++
				}
			}
			if got := float64(n) / all * 100; got < float64(percent)*0.9-0.3 || got > float64(percent)*1.1+0.3 ||
				percent%100 == 0 && n != percent*all/100 {
				t.Errorf("%s ids: %.2f%% are translated, want %d%%", name, got, percent)
			}
		}
	}
	// A client that is translated in a small share is also translated in a larger one.
	for i := range 1000 {
		if id := strconv.Itoa(i); inShare(id, 10) && !inShare(id, 11) {
			t.Fatalf("%s left", id)
		}
	}
}

// TestUntranslated checks that a request goes on as it is, and its answer too.
func TestUntranslated(t *testing.T) {
	for _, tt := range []struct {
		translate, path, model, body string
		sent                         string
	}{
		{"0%", "/v1/chat/completions", "openai/gpt-oss", chatRequest("openai/gpt-oss"), ""},
		{"0%", "/v1/chat/completions", testModel, chatRequest(testModel), chatRequest("openai/gpt-oss")},
		{"0%", "/v1/responses", testModel, `{"input":[],"model":"gpt-oss-120b","store":true}`,
			`{"input":[],"model":"openai/gpt-oss","store":true}`},
		{"observe", "/v1/chat/completions", testModel, chatRequest(testModel), chatRequest("openai/gpt-oss")},
		{"observe", "/v1/responses", testModel, `{"model":"gpt-oss-120b","previous_response_id":"resp_1"}`,
			`{"model":"openai/gpt-oss","previous_response_id":"resp_1"}`},
	} {
		g := untranslating(tt.translate, func(o *Options) {
			o.Models[0].Aliases = []string{"openai/gpt-oss"}
			o.ResponsesService = contract.ResponsesService{Pool: "service", Stores: true, HostedTools: true}
		})
		x := g.Begin("POST", tt.path)
		if !x.RequestHeaders().Hold {
			t.Fatal("the headers are not held")
		}
		a := x.Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		f := a.Forward
		if f == nil || f.Path != tt.path || f.Pool != "pool-1 untranslated" || !f.Readable || string(f.Body) != tt.sent {
			t.Errorf("%s %s: %+v %+v", tt.translate, tt.body, a, f)
			continue
		}
		if x.PassesThrough() != (tt.translate == "0%") || x.Translated() {
			t.Errorf("%s: passes %v", tt.translate, x.PassesThrough())
		}
		if r := x.ResponseHeaders(ResponseHead{Status: 429, ContentType: "text/plain", RetryAfter: "7"}); !r.Pass {
			t.Errorf("the headers: %+v", r)
		}
		if r := x.ResponseBody([]byte("slow down"), true); !r.Pass {
			t.Errorf("the body: %+v", r)
		}
		if x.Overdue(testNow+1e9) && x.Stalled(testNow+1e9).Reset {
			t.Error("a silent server is cut")
		}
		r := x.Report()
		if !r.Untranslated || r.Translated || r.Model != testModel || r.Server != contract.VLLM || r.Finish != "" {
			t.Errorf("the report is %+v", r)
		}
	}
}

// TestUntranslatedOtherModel: no request names a second model, for servers that read names in any case.
func TestUntranslatedOtherModel(t *testing.T) {
	body := `{"model":"` + testModel + `","M\u004fdel":"other","messages":[],"prompt":"Hi"}`
	for _, tt := range []struct {
		path string
		g    *Gateway
	}{
		{"/v1/chat/completions", untranslating("0%", nil)},
		{"/v1/responses", untranslating("observe", nil)},
		{"/v1/completions", testGateway(func(o *Options) { o.Models[0].RawPrompts = contract.RawPromptsAllow })},
	} {
		x := tt.g.Begin("POST", tt.path)
		x.RequestHeaders()
		a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != 400 || !strings.Contains(string(a.Reply.Body), contract.CodeDuplicateKey) {
			t.Errorf("%s: %+v", tt.path, a)
		}
	}
}

// TestShareByID checks that a share decides by the request's id, for both APIs, and keeps to the rest of the rules.
func TestShareByID(t *testing.T) {
	translated, spared := "", ""
	for i := 0; translated == "" || spared == ""; i++ {
		id := fmt.Sprintf("%032d", i)
		if inShare(id, 50) {
			translated = id
		} else {
			spared = id
		}
	}
	responses := `{"model":"` + testModel + `","input":"Hi"}`
	service := func(o *Options) {
		o.ResponsesService = contract.ResponsesService{Pool: "service", Stores: true, HostedTools: true}
	}
	sealing := func(o *Options) {
		keys, err := seal.ParseKeys("k:" + strings.Repeat("A", 43) + "=")
		if err != nil {
			t.Fatal(err)
		}
		o.SealKeys, o.Seal.LifetimeS = keys, 60
	}
	for _, tt := range []struct {
		name, path, body string
		change           func(*Options)
		header           [2]string
		pools            [2]string // of a translated and of a spared id
	}{
		{name: "Chat", path: "/v1/chat/completions", body: chatRequest(testModel),
			pools: [2]string{"pool-1", "pool-1 untranslated"}},
		{name: "Responses", path: "/v1/responses", body: responses, pools: [2]string{"pool-1", "pool-1 untranslated"}},
		{name: "stored", path: "/v1/responses", body: responses, change: service, pools: [2]string{"service", "service"}},
		{name: "not stored", path: "/v1/responses", change: service,
			body:  strings.Replace(responses, "{", `{"store":false,`, 1),
			pools: [2]string{"pool-1", "pool-1 untranslated"}},
		{name: "of the service", path: "/v1/responses", body: responses, change: service,
			header: [2]string{contract.ServiceHeader, contract.ServiceDeclined}, pools: [2]string{"pool-1", "pool-1"}},
		{name: "strict", path: "/v1/chat/completions", body: chatRequest(testModel),
			header: [2]string{contract.StrictHeader, "1"}, pools: [2]string{"pool-1", "pool-1"}},
		{name: "channel events", path: "/v1/chat/completions",
			body:   strings.Replace(chatRequest(testModel), "{", `{"stream":true,`, 1),
			header: [2]string{contract.EventsHeader, contract.EventsChannels}, pools: [2]string{"pool-1", "pool-1"}},
		{name: "sealed", path: "/v1/responses",
			body:   strings.Replace(responses, "{", `{"include":["reasoning.encrypted_content"],`, 1),
			change: sealing, pools: [2]string{"pool-1", "pool-1"}},
		{name: "sealed without keys", path: "/v1/responses",
			body:  strings.Replace(responses, "{", `{"include":["reasoning.encrypted_content"],`, 1),
			pools: [2]string{"pool-1", "pool-1 untranslated"}},
		{name: "no such API", path: "/v1/responses", body: responses,
			change: func(o *Options) { o.Models[0].Server = contract.VLLMLegacy }, pools: [2]string{"pool-1", "pool-1"}},
	} {
		g := untranslating("50%", tt.change)
		for i, id := range []string{translated, spared} {
			x := g.Begin("POST", tt.path)
			x.Header(tt.header[0], tt.header[1])
			a := x.Request([]byte(tt.body), Host{Now: testNow, ID: id})
			if a.Forward == nil || a.Forward.Pool != tt.pools[i] {
				t.Errorf("%s, %d: %+v %+v", tt.name, i, a.Forward, a)
			}
			if got := x.Report().Untranslated; got != strings.HasSuffix(tt.pools[i], " untranslated") {
				t.Errorf("%s, %d: untranslated %v", tt.name, i, got)
			}
		}
	}
}

// TestNotTheirs checks the error for an API that the servers do not have, where nothing is translated.
func TestNotTheirs(t *testing.T) {
	for _, translate := range []string{"0%", "observe"} {
		g := untranslating(translate, func(o *Options) { o.Models[0].Server = contract.VLLMLegacy })
		x := g.Begin("POST", "/v1/responses")
		a := x.Request([]byte(`{"model":"`+testModel+`","input":"Hi"}`), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != 404 || !strings.Contains(string(a.Reply.Body), `"code":"unknown_url"`) ||
			!strings.Contains(string(a.Reply.Body), "vllm-legacy") {
			t.Errorf("%s: %+v", translate, a)
		}
	}
}

// TestUntranslatedUnread checks that a request passes that the gateway has not the memory to read, or that has too many
// values, and that a translated one does not.
func TestUntranslatedUnread(t *testing.T) {
	full := Host{Now: testNow, ID: testID, Admit: func(int) bool { return false }}
	for _, translate := range []string{"0%", "observe"} {
		x := untranslating(translate, nil).Begin("POST", "/v1/chat/completions")
		if a := x.Request([]byte(chatRequest(testModel)), full); a.Forward == nil || a.Full || !x.PassesThrough() {
			t.Errorf("%s, no memory: %+v", translate, a)
		}
		many := `{"model":"` + testModel + `","messages":[` + strings.Repeat("0,", 300_000) + `0]}`
		x = untranslating(translate, nil).Begin("POST", "/v1/chat/completions")
		if a := x.Request([]byte(many), Host{Now: testNow, ID: testID}); a.Forward == nil || !x.PassesThrough() {
			t.Errorf("%s, many values: %+v", translate, a.Reply)
		}
		if r := x.Report(); r.Observed != (Observed{}) || !r.Untranslated {
			t.Errorf("%s, many values: %+v", translate, r)
		}
	}
	x := untranslating("50%", nil).Begin("POST", "/v1/chat/completions")
	if a := x.Request([]byte(chatRequest(testModel)), full); !a.Full {
		t.Errorf("a share: %+v", a)
	}
}

// TestUntranslatedRules checks that raw prompts stay refused where nothing is translated, and that what the gateway
// answers itself stays its own.
func TestUntranslatedRules(t *testing.T) {
	g := untranslating("observe", nil)
	for _, path := range []string{"/v1/completions", "/inference/v1/generate", "/generate", "/v1/chat/completions/batch"} {
		x := g.Begin("POST", path)
		if x == nil {
			t.Errorf("%s is not taken", path)
			continue
		}
		a := x.Request([]byte(`{"model":"`+testModel+`","prompt":"Hi"}`), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != 403 {
			t.Errorf("%s: %+v", path, a)
		}
	}
	x := g.Begin("POST", "/tokenize")
	if a := x.Request([]byte(`{"model":"`+testModel+`","prompt":"Hi"}`), Host{Now: testNow, ID: testID}); a.Reply == nil ||
		a.Reply.Status != 200 {
		t.Errorf("/tokenize: %+v", a)
	}
	for body, status := range map[string]int{
		`{`: 400, `{"messages":[]}`: 400, `{"model":"a","model":"b"}`: 400, chatRequest("other"): 404,
		chatRequest(testModel) + strings.Repeat(" ", 1<<20): 413,
	} {
		x := g.Begin("POST", "/v1/chat/completions")
		if a := x.Request([]byte(body), Host{Now: testNow, ID: testID}); a.Reply == nil || a.Reply.Status != status {
			t.Errorf("%.40s: %+v", body, a)
		}
	}
}
