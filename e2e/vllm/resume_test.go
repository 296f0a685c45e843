//go:build e2e && vllm

package vllm

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
)

// unsteady are ids and times of an answer.
var unsteady = regexp.MustCompile(`((?:resp|rs|msg|chatcmpl)[_-])[0-9a-z]+|("(?:created|created_at|completed_at)": ?)[0-9]+|` +
	`("encrypted_content": ?")[^"]*|("cached_tokens": ?)[0-9]+`)

// TestResume kills one of two vLLMs in the middle of streams. The other goes on with them, and each client gets what an
// uncut answer is: text, logprobs and counts.
func TestResume(t *testing.T) {
	const each = 6
	dies, stays := servers.New(t, wideFlags...), servers.Shared(t, wideFlags...)
	g := service.Start(t, service.Options{Host: "envoy", Environment: []string{service.StoreKeys,
		"HARMONY_SEAL_KEYS=a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}, Configuration: "  - name: two\n    server_model: " +
		lab.Model + "\n    relay: resume\n    context_length: 16384\n    servers: [vllm=" + dies.URL + ", vllm=" + stays.URL + "]\n"})
	text := puppet(t, "<|channel|>analysis<|message|>"+strings.Repeat("one and two and ", 40)+"<|end|><|start|>assistant"+
		"<|channel|>final<|message|>"+strings.Repeat("a list of items, ", 60)+"the end.<|return|>")
	ways := []ask{{lab.ChatPath, true}, {lab.ResponsesPath, true}}
	get := func(way ask) string {
		body := strings.Replace(way.body(text, 0), `"model":"`+lab.Model+`"`, `"model":"two"`, 1)
		a := lab.Do(lab.HTTP1(t), "POST", g.URL+way.path, nil, strings.NewReader(body))
		if a.Err != nil || a.Status != 200 {
			t.Errorf("%v: %d %s", a.Err, a.Status, a.Body)
		}
		return unsteady.ReplaceAllString(a.Body, "$1$2$3$4")
	}
	want := map[string]string{}
	for _, way := range ways {
		if want[way.path] = get(way); !strings.Contains(want[way.path], "the end") && !strings.Contains(want[way.path], " end") {
			t.Fatalf("%s", want[way.path])
		}
	}
	var asking sync.WaitGroup
	for _, way := range ways {
		for range each {
			asking.Go(func() {
				if got := get(way); got != want[way.path] {
					t.Errorf("%s:\n%s\nwant\n%s", way.path, got, want[way.path])
				}
			})
		}
	}
	awaitRunning(t, dies, each/2)
	if err := dies.KillServer(); err != nil {
		t.Error(err)
	}
	asking.Wait()
	said := g.Program.Stderr.String()
	cut := strings.Count(said, "was cut; asking another server for the rest")
	if t.Logf("%d of %d streams have lost their server", cut, each*len(ways)); cut == 0 {
		t.Error("no stream was cut")
	}
}
