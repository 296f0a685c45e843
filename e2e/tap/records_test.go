//go:build e2e

package tap

import (
	"bytes"
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/record"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
	"github.com/harmonyedge/harmonyedge/sim"
)

// recorded is what a record has of a request.
type recorded struct {
	prompt, sampled []uint32
	messages        string
	recoveries      map[string]uint64
	answer          strings.Builder
	chunks          int
	end             *line.End
}

// TestRecords: a record has the prompt and the sampled ids of the server, the messages and the repairs of the gateway,
// and the client's answer, whatever the kind of the server.
func TestRecords(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for _, kind := range []string{sim.VLLM, sim.SGLang, sim.LlamaCPP, sim.Text, sim.Chat} {
			written := answer
			if kind == sim.Chat { // such a server repairs nothing
				written = strings.Replace(answer, "<|start|>", "<|end|><|start|>", 1)
			}
			server, url := lab.RunSim(t, sim.Options{Kind: kind, PrintSpecials: kind == sim.Text,
				Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(written)})})
			r, err := record.New(record.Options{Tokenizer: o200k.Tokenizer})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			s := httptest.NewServer(r.Handler(key))
			defer s.Close()
			c := tappedModel(url, s.URL, "")
			c.Models[0] = config.DefaultModel(lab.Model, kind+"="+url)
			c.Models[0].AcceptTextPrompts = kind == sim.Text
			h := run(t, c)
			events := r.Subscribe(t.Context())
			for path, body := range map[string]string{
				lab.ChatPath:      lab.ChatBody(lab.Model, "Hi"),
				lab.ResponsesPath: streamed(lab.ResponsesBody(lab.Model, "Hi")),
			} {
				a := ask(lab.HTTP1(t), h, path, body, key)
				id := waitEnded(t, events)
				text, _ := r.Lines(id)
				got := readRecord(t, text)
				asked := server.Requests()
				checkRecord(t, kind, got, &asked[len(asked)-1], a)
				q, err := explain.ReadRequest(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				if err := explain.WriteRequest(&out, o200k.Tokenizer(), q, explain.Options{Width: 100}); err != nil ||
					!strings.Contains(out.String(), "  | In Zürich it rains.\n") {
					t.Errorf("%s: %v, explained as\n%s", kind, err, out.String())
				}
			}
		}
	})
}

// waitEnded returns the id of the next record that ends.
func waitEnded(t *testing.T, events <-chan record.Event) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	for {
		select {
		case e := <-events:
			if e.Kind == record.Ended {
				return e.ID
			}
		case <-ctx.Done():
			t.Fatal("no record has ended")
		}
	}
}

func readRecord(t *testing.T, text []byte) *recorded {
	t.Helper()
	got := &recorded{recoveries: map[string]uint64{}}
	for raw := range bytes.Lines(text) {
		l, err := line.Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		switch l := l.(type) {
		case *line.Sent:
			got.prompt = o200k.Tokenizer().AppendEncodeSpecial(l.PromptIDs, l.PromptText)
		case *line.Message:
			got.messages += "|" + l.Channel + ":"
		case *line.Tokens:
			got.messages += l.Content
			got.sampled = append(got.sampled, l.IDs...)
		case *line.Recovery:
			got.recoveries[l.Kind]++
		case *line.Piece:
			if l.Type == line.TypeAnswer {
				got.answer.WriteString(l.Body)
			} else {
				got.chunks++
			}
		case *line.End:
			got.end = l
		}
	}
	return got
}

func checkRecord(t *testing.T, kind string, got *recorded, asked *sim.Request, a lab.Answer) {
	t.Helper()
	if a.Err != nil || a.Status != 200 || got.answer.String() != a.Body {
		t.Errorf("%s: the answer is\n%s\nthe client got %d, %v\n%s", kind, got.answer.String(), a.Status, a.Err, a.Body)
	}
	facts := contract.KindNamed(kind)
	if !facts.Conversations && !slices.Equal(got.prompt, asked.PromptIDs) {
		t.Errorf("%s: the prompt is %v, the server got %v", kind, got.prompt, asked.PromptIDs)
	}
	if !facts.TextAnswers && !slices.Equal(got.sampled, asked.SampledIDs) {
		t.Errorf("%s: the ids are %v, the server sampled %v", kind, got.sampled, asked.SampledIDs)
	}
	if want := "|analysis:Zürich, then.|final:In Zürich it rains."; got.messages != want || got.chunks > 0 {
		t.Errorf("%s: the messages are %s, and %d pieces are no tokens", kind, got.messages, got.chunks)
	}
	if got.end == nil || got.end.LostFrames+got.end.LostLines > 0 || len(got.recoveries) != len(got.end.Recoveries) {
		t.Errorf("%s: the repairs are %v, the end is %+v", kind, got.recoveries, got.end)
		return
	}
	for name, n := range got.end.Recoveries {
		if got.recoveries[name] != n {
			t.Errorf("%s: %d of %s, the gateway counts %d", kind, got.recoveries[name], name, n)
		}
	}
}
