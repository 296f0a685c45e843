//go:build e2e

package routing

import (
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestReducedBodies: the way is chosen before the body is read, and still no body goes where it must not.
func TestReducedBodies(t *testing.T) { lab.OnProxiesOfAll(t, reducedBodies) }

func reducedBodies(t *testing.T, run lab.RunProxies) {
	const secret = "NOT-FOR-THE-SERVER"
	long := strings.Repeat(secret+" ", 10_000)
	for name, allow := range map[string]string{"raw prompts denied": "deny", "raw prompts allowed": "allow"} {
		t.Run(name, func(t *testing.T) {
			gpu, through := lab.RunRecording(t), lab.RunRecording(t)
			alone := lab.ReducedModel("http://" + gpu.Address)
			alone.Models[0].RawPrompts = allow
			passing := lab.ReducedModel("http://" + gpu.Address)
			passing.Models[0].RawPrompts, passing.Passthrough = allow, "http://"+through.Address
			both := run(t, []*config.Config{alone, passing})
			without, with := both[0], both[1]
			for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
				for _, h := range []*hosts.Host{without, with} {
					for _, text := range []string{secret, long} {
						lab.WantRefused(t, lab.Ask(client, h.URL+lab.ChatPath, lab.ChatBody("other", text)), 404, "model_not_found")
						lab.WantRefused(t, lab.Ask(client, h.URL+lab.ResponsesPath, lab.ResponsesBody("other", text)), 404,
							"model_not_found")
						lab.WantRefused(t, lab.Ask(client, h.URL+lab.RawPath, `{"model":"other","prompt":"`+text+`"}`), 404,
							"model_not_found")
						lab.WantRefused(t, lab.Ask(client, h.URL+lab.ChatPath, `{"messages":[],"user":"`+text+`"}`), 400,
							"missing_required_parameter")
						lab.WantRefused(t, lab.Ask(client, h.URL+lab.ChatPath,
							`{"model":"other","model":"`+lab.Model+`","user":"`+text+`"}`), 400,
							"duplicate_key")
						if allow == "deny" {
							lab.WantRefused(t, lab.Ask(client, h.URL+lab.RawPath, `{"model":"`+lab.Model+`","prompt":"`+text+`"}`), 403,
								"raw_prompt_not_allowed")
						}
					}
					lab.WantRefused(t, lab.Ask(client, h.URL+"/generate", `{"model":"`+lab.Model+`","text":"`+secret+`"}`), 404,
						"unknown_url")
				}
				if allow == "allow" {
					a := lab.Ask(client, with.URL+lab.RawPath, `{"model":"`+lab.Model+`","prompt":"`+lab.AnswerMe+`"}`)
					if a.Status != 200 || a.Body != "{}" {
						t.Errorf("an allowed prompt: %+v", a)
					}
				}
				if a := lab.Ask(client, with.URL+"/v1/embeddings",
					`{"model":"other","input":"`+lab.AnswerMe+`"}`); a.Status != 200 ||
					a.Body != "{}" {
					t.Errorf("another path: %+v", a)
				}
			}
			for server, got := range map[string]string{
				"the model's server": gpu.All(t), "the passthrough server": through.All(t)} {
				if strings.Contains(got, secret) {
					t.Errorf("%s got a body that was refused", server)
				}
				if !strings.Contains(got, "POST /v1/") {
					t.Errorf("%s got nothing at all, so this shows nothing", server)
				}
			}
		})
	}
}

// TestReducedRename: an allowed raw prompt's body changes its length when the server knows the model by another name.
func TestReducedRename(t *testing.T) { lab.OnProxies(t, reducedRename) }

func reducedRename(t *testing.T, run lab.RunProxy) {
	gpu, url := lab.RunSim(t, sim.Options{AnyPrompt: true, Models: []string{"openai/gpt-oss-120b"}})
	c := lab.ReducedModel(url)
	c.Models[0].RawPrompts, c.Models[0].ServerModel = "allow", "openai/gpt-oss-120b"
	h := run(t, c)
	for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
		a := lab.Ask(client, h.URL+lab.RawPath, `{"model":"gpt-oss-120b","prompt":"Once","max_tokens":4}`)
		if a.Status != 200 || !strings.Contains(a.Body, `"object":"text_completion"`) {
			t.Errorf("got %+v", a)
		}
	}
	for _, r := range gpu.Requests() {
		if r.Model != "openai/gpt-oss-120b" {
			t.Errorf("the server got %s", r.Body)
		}
	}
}
