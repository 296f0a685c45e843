//go:build e2e

package tap

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/inspect/record"
)

// TestRecorded: the project's own recorder makes a whole record of what the filter sends.
func TestRecorded(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		server, url := runServer(t)
		folder := filepath.Join(t.TempDir(), "records")
		r, err := record.New(record.Options{Folder: folder, Tokenizer: lab.Vocabulary})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		s := httptest.NewServer(r.Handler(key))
		t.Cleanup(s.Close)
		h := run(t, tappedModel(url, s.URL, contract.TapEverything))
		ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
		defer cancel()
		news := r.Subscribe(ctx)
		for _, body := range []string{lab.ChatBody(lab.Model, "Hi"), streamed(lab.ResponsesBody(lab.Model, "Hi"))} {
			path := lab.ChatPath
			if strings.Contains(body, `"input"`) {
				path = lab.ResponsesPath
			}
			a := ask(lab.HTTP1(t), h, path, body, "")
			var ended record.Event
			for e := range news {
				if e.Kind == record.Ended {
					ended = e
					break
				}
			}
			got := server.Requests()
			last := got[len(got)-1]
			if sum := ended.Summary; a.Status != http.StatusOK || sum.Status != 200 || sum.Model != lab.Model ||
				sum.PromptTokens != len(last.PromptIDs) || sum.FirstTokenMS < 0 || sum.Finish != "stop" || !sum.Whole ||
				sum.Recoveries["missing_end"] != 1 || sum.Broken != "" || sum.Running || sum.Pool != lab.Model {
				t.Errorf("%d, the summary is %+v", a.Status, ended.Summary)
			}
			var ids, sampled []uint32
			answer := ""
			lines, _ := r.Lines(ended.ID)
			for line := range strings.Lines(string(lines)) {
				var l struct {
					Type   string
					Prompt []uint32 `json:"prompt_ids"`
					IDs    []uint32
					Body   json.RawMessage
				}
				if err := json.Unmarshal([]byte(line), &l); err != nil {
					t.Fatal(err)
				}
				ids, sampled = append(ids, l.Prompt...), append(sampled, l.IDs...)
				if l.Type == "answer" {
					var text string
					if err := json.Unmarshal(l.Body, &text); err != nil {
						t.Fatal(err)
					}
					answer += text
				}
			}
			if err := lab.SameIDs(ids, last.PromptIDs); err != nil {
				t.Error(err)
			}
			if err := lab.SameIDs(sampled, last.SampledIDs); err != nil {
				t.Error(err)
			}
			if answer != a.Body {
				t.Errorf("the answer is %q, the client got %q", answer, a.Body)
			}
		}
		if files, err := os.ReadDir(folder); err != nil || len(files) != 2 {
			t.Errorf("%v, %v", files, err)
		}
	})
}
