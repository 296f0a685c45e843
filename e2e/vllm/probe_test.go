//go:build e2e && vllm

package vllm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestProbe has `harmony probe` ask whether a vLLM keeps what the model wrote: one with its defaults, whose answers
// tell cached tokens, and one that keeps everything, whose metrics alone tell them.
func TestProbe(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server func(*testing.T) *engines.VLLM
		want   string
	}{
		{"defaults", func(t *testing.T) *engines.VLLM { return servers.Shared(t, wideFlags...) },
			`no: of 3\d\d \+ 320 tokens its cache had [12]\d\d; see --prefix-cache-retention-interval`},
		{"with an interval", func(t *testing.T) *engines.VLLM { return servers.New(t, denseFlags...) },
			`yes: of 3\d\d \+ 320 tokens its cache had 6\d\d`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := lab.RunHarmony(t, nil, "probe", scripted(t, tt.server(t).URL))
			if !c.Ended(faultLimit) || c.ExitCode(t) != 0 {
				t.Fatalf("it failed:\n%s", &c.Stderr)
			}
			t.Logf("\n%s", &c.Stdout)
			if want := regexp.MustCompile(`(?m)^ *keeps answers +` + tt.want + `$`); !want.MatchString(c.Stdout.String()) {
				t.Errorf("its answer has no line\n%s", want)
			}
		})
	}
}

// shortPrompt is the key of the number of tokens of a prompt that [scripted] has replaced.
type shortPrompt struct{}

// scripted returns the URL of a proxy before a vLLM. By itself the puppet says nothing of its own to the probe's
// greeting, which is a short prompt: the proxy replaces it by one with a script.
func scripted(t *testing.T, target string) string {
	t.Helper()
	prompt, err := engines.Prompt(engines.Spell("<|channel|>final<|message|>Hi<|return|>"), engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		short, ok := r.Request.Context().Value(shortPrompt{}).(int)
		if !ok {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		told := strings.ReplaceAll(string(body), fmt.Sprintf(`"prompt_tokens":%d`, len(prompt)),
			fmt.Sprintf(`"prompt_tokens":%d`, short))
		r.Body = io.NopCloser(strings.NewReader(told))
		r.Header.Del("Content-Length")
		r.ContentLength = -1
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // vLLM refuses half a body
		var request map[string]any
		if json.Unmarshal(body, &request) == nil {
			for _, name := range []string{"prompt", "token_ids"} {
				if ids, ok := request[name].([]any); ok && len(ids) < 200 {
					request[name] = prompt
					r = r.WithContext(context.WithValue(r.Context(), shortPrompt{}, len(ids)))
				}
			}
			body, _ = json.Marshal(request) // it was JSON
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// denseFlags are those of a vLLM that keeps what the model wrote.
var denseFlags = []string{"--block-size", "32", "--prefix-cache-retention-interval", "32"}
