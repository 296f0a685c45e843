package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// namedGateway returns a gateway with these models, each with its aliases, on servers of the kind vllm.
func namedGateway(change func(*Options), models ...contract.Named) *Gateway {
	return testGateway(func(o *Options) {
		template := o.Models[0]
		o.Models = nil
		for _, n := range models {
			m := template
			m.Name, m.Pool, m.ServerModel, m.Aliases = n.Name, n.Name, n.Name, n.Aliases
			o.Models = append(o.Models, m)
		}
		if change != nil {
			change(o)
		}
	})
}

// TestModelOfName checks the order: names, then aliases, then patterns, the one with the longest text first.
func TestModelOfName(t *testing.T) {
	models := []contract.Named{
		{Name: "gpt-oss-20b", Aliases: []string{"*", "openai/*", "*-mini"}},
		{Name: "gpt-oss-120b", Aliases: []string{"gpt-4o", "openai/gpt-oss-120b*", "openai/gpt-4o*", "a*"}},
		{Name: "openai/special", Aliases: []string{"*b"}},
	}
	want := map[string]string{
		"gpt-oss-20b": "gpt-oss-20b", "gpt-oss-120b": "gpt-oss-120b", "openai/special": "openai/special",
		"gpt-4o": "gpt-oss-120b", "openai/gpt-oss-120b-fp4": "gpt-oss-120b", "openai/x": "gpt-oss-20b",
		"openai/gpt-4o-mini": "gpt-oss-120b", "gpt-4o-mini": "gpt-oss-20b", "ab": "gpt-oss-120b", "cb": "openai/special",
		"anything": "gpt-oss-120b", "everything": "gpt-oss-20b", "openai/*": "gpt-oss-20b",
		strings.Repeat("x", contract.MaxNameLength): "gpt-oss-20b", strings.Repeat("x", contract.MaxNameLength+1): "",
	}
	for range 2 {
		g := namedGateway(nil, models...)
		for name, model := range want {
			got := ""
			if m := g.model(name); m != nil {
				got = m.Name
			}
			if got != model {
				t.Errorf("%.40s is the model %q, want %q", name, got, model)
			}
		}
		models[0], models[2] = models[2], models[0] // their order does not matter
	}
	if m := namedGateway(nil, models[1]).model("gpt-5"); m != nil {
		t.Errorf("gpt-5 is %s", m.Name)
	}
}

// TestAliasEchoed checks that the client gets the name that it used, the server its own, and the report the model's.
func TestAliasEchoed(t *testing.T) {
	g := namedGateway(func(o *Options) { o.Models[0].ServerModel = "openai/gpt-oss-120b" },
		contract.Named{Name: "gpt-oss-120b", Aliases: []string{"gpt-4o", "local/*"}})
	hello := answerOf("<|channel|>final<|message|>Hi<|return|>")
	for _, name := range []string{"gpt-oss-120b", "gpt-4o", `local/\"x\"`} {
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":"` + name + `","messages":[{"role":"user","content":"Hi"}]}`,
			"/v1/responses":        `{"model":"` + name + `","input":"Hi"}`,
		} {
			x := g.Begin("POST", path)
			a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
			if a.Forward == nil || !strings.Contains(string(a.Forward.Body), `"model":"openai/gpt-oss-120b"`) {
				t.Fatalf("%s %s: %+v", path, name, a)
			}
			if got := outcome(t, x, []string{hello}); !strings.Contains(got, `"model":"`+name+`"`) {
				t.Errorf("%s %s: %s", path, name, got)
			}
			if r := x.Report(); r.Model != "gpt-oss-120b" {
				t.Errorf("%s %s: counted for %s", path, name, r.Model)
			}
		}
	}
}

// TestAliasesListed checks that names and aliases are listed and patterns are not, and that a model is found by all.
func TestAliasesListed(t *testing.T) {
	g := namedGateway(nil, contract.Named{Name: "b", Aliases: []string{"z", "open*", "a"}}, contract.Named{Name: "a2"})
	_, list := getModels(t, g, "/v1/models")
	at := -1
	for _, name := range []string{"b", "z", "a", "a2"} {
		i := strings.Index(list, `"id":"`+name+`"`)
		if i <= at {
			t.Errorf("%s is not at its place: %s", name, list)
		}
		at = i
	}
	if strings.Contains(list, "*") || strings.Count(list, `"id"`) != 4 {
		t.Errorf("listed: %s", list)
	}
	for path, want := range map[string]string{"open%2Fx": `"id":"open/x"`, "z": `"id":"z"`, "y": "model_not_found",
		"open%2A%FF": "\"id\":\"open*\ufffd\""} {
		if _, body := getModels(t, g, "/v1/models/"+path); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// TestOtherModelsOfOurNames checks that another server's list does not repeat what the gateway takes itself.
func TestOtherModelsOfOurNames(t *testing.T) {
	g := namedGateway(func(o *Options) { o.Passthrough = true },
		contract.Named{Name: "ours", Aliases: []string{"alias", "openai/*"}})
	const others = `{"data":[{"id":"alias"},{"id":"openai/gpt-4o"},{"id":"ours"},{"id":"llama"}]}`
	got := playModels(t, g, ResponseHead{Status: 200, ContentType: "application/json"}, others, 1<<20)
	if strings.Count(got, `"id"`) != 3 || !strings.Contains(got, `{"id":"llama"}]`) {
		t.Error(got)
	}
	if g.Begin("GET", "/v1/models/openai/gpt-4o") == nil || g.Begin("GET", "/v1/models/llama") != nil {
		t.Error("a pattern's model is not the gateway's, or another is")
	}
}

// TestAliasOfRawPrompt checks that a raw prompt is refused and renamed by an alias as by the name.
func TestAliasOfRawPrompt(t *testing.T) {
	for _, reduced := range []bool{false, true} {
		for _, allowed := range []bool{false, true} {
			g := namedGateway(func(o *Options) {
				if reduced {
					o.Mode = contract.ModeReduced
				}
				if allowed {
					o.Models[0].RawPrompts = contract.RawPromptsAllow
				}
			}, contract.Named{Name: "gpt-oss-120b", Aliases: []string{"gpt-4o", "x*"}})
			for _, name := range []string{"gpt-4o", "xyz", "gpt-oss-120b"} {
				x := g.Begin("POST", "/v1/completions")
				head := x.RequestHeaders()
				if head.Rewritten != (reduced && allowed) {
					t.Errorf("%+v", head)
				}
				a := x.Request([]byte(`{"model":"`+name+`","prompt":"Hi"}`), Host{Now: testNow, ID: testID})
				switch {
				case !allowed && (a.Reply == nil || a.Reply.Status != 403):
					t.Errorf("%s: %+v", name, a)
				case allowed && a.Forward == nil:
					t.Errorf("%s: %+v", name, a)
				case allowed && name != "gpt-oss-120b" && !strings.Contains(string(a.Forward.Body), `"gpt-oss-120b"`):
					t.Errorf("%s: sent %s", name, a.Forward.Body)
				}
			}
		}
	}
}

// BenchmarkModelOfName measures how long an unknown name takes among very many patterns.
func BenchmarkModelOfName(b *testing.B) {
	models := make([]Model, 1000)
	for i := range models {
		models[i] = Model{Model: contract.DefaultModel(fmt.Sprint("model-", i))}
		for j := range 10 {
			models[i].Aliases = append(models[i].Aliases, fmt.Sprint("team-", i, "/", j, "/*"))
		}
		models[i].Kind, _ = backend.Named(contract.VLLM)
	}
	n := namesOf(models)
	for b.Loop() {
		if n.Find("team-999/10") >= 0 {
			b.Fatal("found")
		}
	}
}
