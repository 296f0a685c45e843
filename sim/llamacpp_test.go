package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/sim/gptoss"
	"github.com/harmonyedge/harmonyedge/sim/llamacpp"
)

// captures are the answers of a real server, to requests beside them (e2e/llamacpp/testdata/README.md).
const captures = "../e2e/llamacpp/testdata/"

// notLike are the captures that the simulator does not follow.
var notLike = map[string]string{
	"stop-string": llamacpp.NotSimulated, "stop-string-stream": llamacpp.NotSimulated, "logprobs": llamacpp.NotSimulated,
	"logprobs-stream": llamacpp.NotSimulated, "progress-stream": llamacpp.NotSimulated,
	// The simulator keeps no script that leaves the grammar.
	"error-later": "it is complete by the grammar", "error-later-stream": "it is complete by the grammar",
	"v1": "File Not Found", "v1-stream": "File Not Found", "v1-preserved-stream": "File Not Found",
}

// TestLlamaCPPCaptures sends the simulator the requests of the captures and compares the answers.
func TestLlamaCPPCaptures(t *testing.T) {
	files, err := filepath.Glob(captures + "*.request")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".request")
		t.Run(name, func(t *testing.T) {
			head, body := captured(t, file)
			method, path, _ := strings.Cut(strings.TrimSuffix(head, " HTTP/1.1"), " ")
			s := New(Options{Kind: LlamaCPP, Models: []string{"puppet"}, MaxModelLen: 1024, MaxRunning: 1, AnyPrompt: true,
				Script: scriptOfPuppet(body)})
			if name == "cached-stream" {
				answerTo(t, s, method, path, body)
			}
			got := answerTo(t, s, method, path, body)
			data, err := os.ReadFile(captures + name + ".response")
			if err != nil {
				t.Fatal(err)
			}
			want, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if why := notLike[name]; why != "" {
				if answer, _ := io.ReadAll(got.Body); !strings.Contains(string(answer), why) {
					t.Errorf("want a refusal with %q, got %s", why, answer)
				}
				return
			}
			gotType, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
			wantType, _, _ := strings.Cut(want.Header.Get("Content-Type"), ";")
			if got.StatusCode != want.StatusCode || gotType != wantType {
				t.Errorf("%d %s, want %d %s", got.StatusCode, gotType, want.StatusCode, wantType)
			}
			compareAnswers(t, readAnswer(t, got), readAnswer(t, want), method == http.MethodGet)
		})
	}
}

func captured(t *testing.T, file string) (head, body string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, body, ok := strings.Cut(string(data), "\n\n")
	if !ok {
		t.Fatalf("%s has no empty line", file)
	}
	return head, body
}

// scriptOfPuppet is the answer that the puppet gives: the beginning of its prompt.
func scriptOfPuppet(body string) *Script {
	var q struct{ Prompt []uint32 }
	if json.Unmarshal([]byte(body), &q) != nil {
		return nil
	}
	tokens := q.Prompt
	if at := slices.IndexFunc(tokens, func(id uint32) bool { return slices.Contains(gptoss.Ends, id) }); at >= 0 {
		tokens = tokens[:at+1]
	}
	return NewScript(Line{Tokens: tokens}, Line{Tokens: tokens})
}

func answerTo(t *testing.T, s *Server, method, path, body string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Result()
}

// readAnswer returns the objects of an answer, which is one object or a stream of them.
func readAnswer(t *testing.T, r *http.Response) []map[string]any {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, text := range strings.Split(strings.TrimSuffix(string(body), "\n\n"), "\n\n") {
		var one map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "data: ")), &one); err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		all = append(all, one)
	}
	return all
}

// compareAnswers compares all but times and settings. Of a page the simulator may have fewer members.
func compareAnswers(t *testing.T, got, want []map[string]any, page bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d\ngot  %v\nwant %v", len(got), len(want), got, want)
	}
	for i := range got {
		if page {
			keepKnown(got[i], want[i])
		}
		for _, one := range []map[string]any{got[i], want[i]} {
			if one["generation_settings"] != nil {
				one["generation_settings"] = "some"
			}
			if timings, ok := one["timings"].(map[string]any); ok {
				maps.DeleteFunc(timings, func(name string, _ any) bool { return !strings.HasSuffix(name, "_n") })
			}
			if failure, ok := one["error"].(map[string]any); ok {
				failure["message"], _, _ = strings.Cut(failure["message"].(string), ": syntax error")
			}
		}
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("event %d\ngot  %v\nwant %v", i, got[i], want[i])
		}
	}
}

// keepKnown leaves in want only the members that got has too, and makes equal what every server has its own of.
func keepKnown(got, want map[string]any) {
	maps.DeleteFunc(want, func(name string, _ any) bool { return got[name] == nil })
	for name, value := range got {
		switch value := value.(type) {
		case map[string]any:
			if other, ok := want[name].(map[string]any); ok {
				keepKnown(value, other)
			}
		case []any:
			other, ok := want[name].([]any)
			for i := range min(len(value), len(other)) {
				a, isObject := value[i].(map[string]any)
				if b, too := other[i].(map[string]any); ok && isObject && too {
					keepKnown(a, b)
				}
			}
		}
	}
	if got["created"] != nil {
		got["created"] = want["created"]
	}
}

// TestLlamaCPPConnection: the server says nothing of it, but the connection of a stream cannot be used again.
func TestLlamaCPPConnection(t *testing.T) {
	for _, streams := range []bool{true, false} {
		s := New(Options{Kind: LlamaCPP, AnyPrompt: true})
		url, err := s.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
		t.Cleanup(client.CloseIdleConnections)
		for i := range 2 {
			body := io.MultiReader(strings.NewReader(`{"prompt":[1],"n_predict":2,"stream":` + map[bool]string{true: "true}",
				false: "false}"}[streams])) // of no type that the client could send again
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/completion", body)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(r)
			if cut := streams && i > 0; (err != nil) != cut {
				t.Fatalf("stream %v, request %d: %v", streams, i, err)
			}
			if err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}
	}
}
