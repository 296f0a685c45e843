package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

var update = flag.Bool("update", false, "write the golden file")

const (
	testKey = "a key of many characters"
	// began is when the requests of the tests begin, in microseconds since 1970.
	began = 1_800_000_000_000_000
)

// batch makes the body of one POST.
type batch struct{ b []byte }

// add adds a frame that came ms milliseconds after the request's beginning.
func (b *batch) add(kind tap.Kind, stream uint32, ms int64, payload any) *batch {
	var text []byte
	switch p := payload.(type) {
	case nil:
	case string:
		text = []byte(p)
	default:
		text, _ = json.Marshal(p)
	}
	b.b = tap.Append(b.b, tap.Frame{Kind: kind, Stream: stream, At: began + ms*1000, Payload: text})
	return b
}

// post sends a batch, and returns the status.
func (b *batch) post(t *testing.T, r *Recorder, vm string) int {
	t.Helper()
	q := httptest.NewRequest("POST", tap.Path, bytes.NewReader(b.b))
	q.Header.Set(tap.KeyHeader, testKey)
	q.Header.Set(tap.VMHeader, vm)
	w := httptest.NewRecorder()
	r.Handler(testKey).ServeHTTP(w, q)
	b.b = nil
	if w.Code == http.StatusRequestEntityTooLarge {
		t.Fatal("the test's frames are too large for one call")
	}
	return w.Code
}

func newRecorder(t *testing.T, o Options) *Recorder {
	t.Helper()
	o.Tokenizer = o200k.Tokenizer
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func (b *batch) begin(stream uint32, id string, head tap.SentHead) *batch {
	b.add(tap.Request, stream, 0, tap.RequestHead{Method: "POST", Path: "/v1/chat/completions", RequestID: id})
	b.add(tap.Body, stream, 0, `{"model":"m","messages":[]`).add(tap.Body, stream, 0, "}\n")
	b.add(tap.Sent, stream, 1, head)
	b.add(tap.SentBody, stream, 1, `{"model":"m","prompt":[200006,1428],"max_tokens":7}`)
	return b
}

func vllmHead() tap.SentHead {
	return tap.SentHead{Path: "/v1/completions", Pool: "p", API: "chat", Model: "m", Server: "vllm", Translated: true}
}

// TestNoVocabulary checks that the vocabulary is built only when ids are read: not at the start, and not for requests of
// which nothing but a summary comes, or a conversation.
func TestNoVocabulary(t *testing.T) {
	built := 0
	r, err := New(Options{Tokenizer: func() *tokenizer.Tokenizer {
		built++
		return o200k.Tokenizer()
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	var b batch
	b.add(tap.End, 1, 10, tap.EndReport{Status: 200, Finish: "stop", Pool: "p", PromptTokens: 2, CompletionTokens: 1})
	b.add(tap.Request, 2, 0, tap.RequestHead{Method: "POST", Path: "/v1/chat/completions", RequestID: "a-2"})
	b.add(tap.Sent, 2, 1, tap.SentHead{Path: "/v1/chat/completions", Pool: "p", API: "chat", Model: "m", Server: "chat"})
	b.add(tap.SentBody, 2, 1, `{"model":"m","messages":[]}`)
	b.add(tap.Head, 2, 5, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	b.add(tap.Chunk, 2, 10, `data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}`+"\n\n")
	b.post(t, r, "1f")
	if built > 0 || len(r.Summaries()) != 2 {
		t.Errorf("%d vocabularies for %d requests without ids", built, len(r.Summaries()))
	}
	b.begin(3, "a-3", vllmHead())
	b.add(tap.Head, 3, 5, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	b.add(tap.Chunk, 3, 10, `data: {"choices":[{"index":0,"token_ids":[200005,35644]}]}`+"\n\n")
	b.post(t, r, "1f")
	if built == 0 {
		t.Error("no vocabulary for a request with ids")
	}
}

func TestRecord(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "records")
	r := newRecorder(t, Options{Folder: folder})
	var b batch
	b.begin(1, "a-1", vllmHead())
	b.add(tap.Head, 1, 5, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	b.add(tap.Chunk, 1, 10, `data: {"choices":[{"index":0,"token_ids":[200005,35644,200008,25216]}]}`+"\n\n")
	b.post(t, r, "1f")
	if s := r.Summaries(); len(s) != 1 || !s[0].Running || !s[0].Whole || s[0].CompletionTokens != 4 {
		t.Errorf("%+v", s)
	}
	b.add(tap.AnswerHead, 1, 10, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	b.add(tap.Answer, 1, 10, "data: {\"é").add(tap.Answer, 1, 11, "\"}\n\n\xc3").add(tap.Answer, 1, 12, "\xa9")
	b.add(tap.Chunk, 1, 20, `data: {"choices":[{"index":0,"token_ids":[200007,200007]}]}`+"\n\n"+
		`data: {"choices":[{"index":1,"token_ids":[200008,13225]}]}`+"\n\ndata: {\"error\":{\"message\":\"gone\"}}\n\n")
	b.add(tap.Chunk, 1, 30, "data: [DONE]\n\n")
	b.add(tap.End, 1, 1010, tap.EndReport{Status: 200, Finish: "stop", Pool: "p", PromptTokens: 2, CompletionTokens: 101,
		FirstTokenMS: 10, Recoveries: map[string]uint64{"stray_terminator": 1}})
	if status := b.post(t, r, "1f"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	got, _ := r.Lines("a-1")
	const golden = "testdata/record.jsonl"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs, %v\n got\n%s\nwant\n%s", golden, err, got, want)
	}
	s := r.Summaries()[0]
	if s.Running || s.TokensPerSecond != 100 || s.Finish != "stop" || s.DurationMS != 1010 {
		t.Errorf("%+v", s)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*"))
	if len(files) != 1 || filepath.Base(files[0]) != "20270115T080000.000Z-a-1.jsonl" {
		t.Fatal(files)
	}
	if text, _ := os.ReadFile(files[0]); !bytes.Equal(text, got) {
		t.Errorf("the file has\n%s", text)
	}
	for l := range bytes.Lines(got) {
		if x, err := line.Read(l); err != nil || x == nil {
			t.Errorf("%s: %v", l, err)
		}
	}
}
