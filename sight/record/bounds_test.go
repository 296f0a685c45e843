package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// checkMemory fails the test unless the recorder's count of its memory is right and within its bounds.
func checkMemory(t testing.TB, r *Recorder) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := 0
	for _, e := range r.entries {
		if e.used < cap(e.lines) {
			t.Fatalf("%s uses %d bytes, but %d are counted", e.id, cap(e.lines), e.used)
		}
		if !e.summary.Running && e.used != cap(e.lines) {
			t.Fatalf("%s has ended with %d bytes, but %d are counted", e.id, cap(e.lines), e.used)
		}
		sum += e.used
	}
	if sum != r.used || r.used > r.options.KeepBytes || r.used < 0 {
		t.Fatalf("%d bytes are used, %d are counted, %d are allowed", sum, r.used, r.options.KeepBytes)
	}
	if len(r.entries) != len(r.byID) || len(r.running) > MaxRunning {
		t.Fatalf("%d records, %d ids, %d run", len(r.entries), len(r.byID), len(r.running))
	}
}

func TestRefusals(t *testing.T) {
	r := newRecorder(t, Options{})
	for _, tt := range []struct {
		name, method, path, key, vm, body string
		status                            int
	}{
		{"another key", "POST", tap.Path, "a key of many characterS", "1", "", 403},
		{"no key", "POST", tap.Path, "", "1", "", 403},
		{"another path", "POST", "/", testKey, "1", "", 404},
		{"another method", "GET", tap.Path, testKey, "1", "", 405},
		{"no VM", "POST", tap.Path, testKey, "", "", 400},
		{"a path as VM", "POST", tap.Path, testKey, "../x", "", 400},
		{"no frames", "POST", tap.Path, testKey, "1", "hello, this is no frame", 400},
		{"too much", "POST", tap.Path, testKey, "1", strings.Repeat("x", MaxFrames+1), 413},
		{"nothing", "POST", tap.Path, testKey, "1", "", 204},
	} {
		q := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
		q.Header.Set(tap.KeyHeader, tt.key)
		q.Header.Set(tap.VMHeader, tt.vm)
		w := httptest.NewRecorder()
		r.Handler(testKey).ServeHTTP(w, q)
		if w.Code != tt.status {
			t.Errorf("%s: %d", tt.name, w.Code)
		}
	}
	q := httptest.NewRequest("POST", tap.Path, nil)
	q.Header.Set(tap.VMHeader, "1")
	w := httptest.NewRecorder()
	if r.Handler("").ServeHTTP(w, q); w.Code != 403 {
		t.Errorf("a recorder without a key answers %d", w.Code)
	}
}

// TestBrokenFrames shows that a broken payload and the end of the frames spoil nothing else.
func TestBrokenFrames(t *testing.T) {
	r := newRecorder(t, Options{})
	var b batch
	b.add(tap.Request, 1, 0, "{").add(tap.Request, 2, 0, tap.RequestHead{RequestID: "well"})
	b.add(tap.Sent, 1, 1, "[]").add(tap.Head, 1, 1, `{"status":"x"}`).add(tap.Answer, 1, 2, "\xff\x00")
	b.add(tap.Chunk, 9, 3, "of a request whose beginning is not known")
	b.add(tap.End, 1, 3, "null")
	b.b = append(b.b, 0xff)
	if status := b.post(t, r, "1"); status != http.StatusBadRequest {
		t.Error(status)
	}
	b.add(tap.Answer, 2, 4, "fine").add(tap.End, 2, 5, tap.EndReport{Status: 200})
	b.post(t, r, "1")
	s := r.Summaries()
	if len(s) != 2 || s[0].ID != "well" || s[0].Status != 200 || s[0].Running || s[1].ID != "1-1" || s[1].Running {
		t.Errorf("%+v", s)
	}
	lines, _ := r.Lines("1-1")
	if !strings.Contains(string(lines), `{"type":"answer","at_ms":2,"body":"\ufffd\u0000"}`) &&
		!strings.Contains(string(lines), "{\"type\":\"answer\",\"at_ms\":2,\"body\":\"\ufffd\\u0000\"}") {
		t.Errorf("%s", lines)
	}
	checkMemory(t, r)
}

// TestIDs shows which ids records have.
func TestIDs(t *testing.T) {
	r := newRecorder(t, Options{Folder: t.TempDir()})
	var b batch
	for i, id := range []string{"a.b_C-9", "a.b_C-9", "../etc/passwd", "", strings.Repeat("x", 65), "ü", "1-7", ""} {
		b.add(tap.Request, uint32(i), int64(i), tap.RequestHead{RequestID: id})
	}
	b.add(tap.Request, 2, 9, tap.RequestHead{RequestID: "again"})
	b.post(t, r, "1")
	var got []string
	for _, s := range r.Summaries() {
		got = append(got, s.ID)
	}
	const want = "[again 1-7-2 1-7 1-5 1-4 1-3 1-2 1-1 a.b_C-9]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
	if s := r.Summaries(); s[6].Broken != "its number was given to another request" {
		t.Errorf("%+v", s[6])
	}
	files, err := os.ReadDir(r.options.Folder)
	if err != nil || len(files) != 9 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestPassedBody shows that a body that passes as it is may come after the head of the request to the server.
func TestPassedBody(t *testing.T) {
	r := newRecorder(t, Options{})
	var b batch
	b.add(tap.Request, 1, 0, tap.RequestHead{RequestID: "a"}).add(tap.Sent, 1, 1, tap.SentHead{Path: "/v1/x"})
	b.post(t, r, "1")
	b.add(tap.Body, 1, 2, `{"a":`).post(t, r, "1")
	b.add(tap.Body, 1, 3, "1}").add(tap.Head, 1, 4, tap.ResponseHead{Status: 200}).post(t, r, "1")
	b.add(tap.Body, 1, 5, "more of it").add(tap.End, 1, 6, tap.EndReport{}).post(t, r, "1")
	const want = `{"type":"request","at_ms":0,"record":1,"time":"2027-01-15T08:00:00Z","request_id":"a","body":{"a":1}}
{"type":"sent","at_ms":1,"path":"/v1/x","translated":false}
{"type":"head","at_ms":4,"status":200}
{"type":"end","at_ms":6,"first_token_ms":0,"lost_lines":1}
`
	if got, _ := r.Lines("a"); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	checkMemory(t, r)
}

// TestSentBody shows that the request to a server is written when it is whole, wherever its frames are cut.
func TestSentBody(t *testing.T) {
	for cut := range 4 {
		r := newRecorder(t, Options{})
		var b batch
		step := func(at int) {
			if at == cut {
				b.post(t, r, "1")
			}
		}
		b.add(tap.Request, 1, 0, tap.RequestHead{RequestID: "a"}).add(tap.Body, 1, 0, `{"a":1}`)
		step(0)
		b.add(tap.Sent, 1, 1, vllmHead())
		step(1)
		b.add(tap.SentBody, 1, 1, `{"prompt":[1,`)
		step(2)
		b.add(tap.SentBody, 1, 1, `2],"x":3}`)
		step(3)
		b.post(t, r, "1")
		got, _ := r.Lines("a")
		if lines := strings.Split(string(got), "\n"); len(lines) != 3 || !strings.HasSuffix(lines[0], `"body":{"a":1}}`) ||
			!strings.HasSuffix(lines[1], `"prompt_ids":[1,2],"body":{"x":3}}`) {
			t.Errorf("cut %d:\n%s", cut, got)
		}
	}
}

// TestMemory records more than there is room for.
func TestMemory(t *testing.T) {
	const keep = 1 << 20
	r := newRecorder(t, Options{KeepBytes: keep, Keep: 5})
	var b batch
	for i := range uint32(40) {
		b.add(tap.Request, i, 0, tap.RequestHead{RequestID: fmt.Sprint("r", i)})
		b.add(tap.Body, i, 0, strings.Repeat("x", 100_000))
		b.add(tap.End, i, 1, tap.EndReport{Status: 200})
	}
	b.post(t, r, "1")
	checkMemory(t, r)
	if s := r.Summaries(); len(s) != 5 || s[0].ID != "r39" {
		t.Errorf("%d records: %+v", len(s), s)
	}
	// Many that run have no room: they lose lines, and nothing else.
	for i := range uint32(40) {
		b.add(tap.Request, i, 0, tap.RequestHead{RequestID: fmt.Sprint("s", i)})
		b.add(tap.Body, i, 0, strings.Repeat("x", 100_000))
		b.add(tap.Sent, i, 1, vllmHead()).add(tap.SentBody, i, 1, `{"x":"`+strings.Repeat("x", 100_000)+`"}`)
		b.add(tap.Head, i, 1, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
		b.add(tap.Chunk, i, 1, "data: "+strings.Repeat("x", 60_000))
		b.post(t, r, "1")
	}
	if n := len(r.Summaries()); n != 40 {
		t.Errorf("%d records run", n)
	}
	checkMemory(t, r)
	for i := range uint32(40) {
		b.add(tap.End, i, 2, tap.EndReport{Status: 200})
	}
	b.post(t, r, "1")
	checkMemory(t, r)
	if len(r.running) != 0 {
		t.Errorf("%d run", len(r.running))
	}
}

// TestLargeRecord shows that a record ends at its bound, and that its end is kept.
func TestLargeRecord(t *testing.T) {
	r := newRecorder(t, Options{})
	r.maxRecord = 16 << 20
	var b batch
	b.add(tap.Request, 1, 0, tap.RequestHead{RequestID: "large"})
	b.add(tap.Body, 1, 0, strings.Repeat("\x01", 2*maxTextBody)).add(tap.Sent, 1, 0, vllmHead())
	for range 4 {
		b.add(tap.SentBody, 1, 1, strings.Repeat("[", 5<<20))
		b.post(t, r, "1")
	}
	b.add(tap.Head, 1, 1, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	event := "data: {\"choices\":[{\"token_ids\":[" + strings.Repeat("199,", 200_000) + "1]}]}\n\n"
	for i := range int64(5) {
		b.add(tap.Chunk, 1, i+2, event)
		b.post(t, r, "1")
		checkMemory(t, r)
	}
	b.add(tap.End, 1, 10, tap.EndReport{Status: 200})
	b.post(t, r, "1")
	checkMemory(t, r)
	lines, _ := r.Lines("large")
	if len(lines) > r.maxRecord+1000 || len(lines) < r.maxRecord-maxPendingTokens*200 {
		t.Errorf("%d bytes", len(lines))
	}
	longest := 0
	var last line.Line
	for text := range bytes.Lines(lines) {
		longest = max(longest, len(text))
		var err error
		if last, err = line.Read(text); err != nil {
			t.Fatal(err)
		}
	}
	if end, ok := last.(*line.End); !ok || end.LostLines == 0 {
		t.Errorf("the last line is %+v", last)
	}
	if longest > 7*maxTextBody {
		t.Errorf("the longest line has %d bytes", longest)
	}
}

// TestLongTexts shows that what stays of a request in memory is short.
func TestLongTexts(t *testing.T) {
	r := newRecorder(t, Options{})
	long := strings.Repeat("ü", 1<<17)
	counts := map[string]uint64{"missing_end": 1}
	for i := range 10_000 {
		counts[fmt.Sprint(i)] = 1
	}
	var b batch
	b.add(tap.Request, 1, 0, tap.RequestHead{Method: "POST", Path: long, RequestID: "a"})
	b.post(t, r, "1")
	b.add(tap.Sent, 1, 0, tap.SentHead{Path: long, Pool: long}).post(t, r, "1")
	b.add(tap.End, 1, 0, tap.EndReport{Model: long, Pool: long, Route: long, Client: long,
		Around: tap.Around{Upstream: long, Class: long, QueuedMS: -1}, Recoveries: counts}).post(t, r, "1")
	s, _ := json.Marshal(r.Summaries())
	lines, _ := r.Lines("a")
	if len(s) > 4<<10 || !bytes.Contains(s, []byte(`"recoveries":{"missing_end":1}`)) {
		t.Errorf("the summary has %d bytes: %.2000s", len(s), s)
	}
	if text := lines[:bytes.LastIndexByte(bytes.TrimSpace(lines), '\n')]; len(text) > 100<<10 {
		t.Errorf("the lines before the last have %d bytes", len(text))
	}
}

// TestManyRequests shows that more requests than may run at once are not recorded, and that nothing of a silent VM
// stays.
func TestManyRequests(t *testing.T) {
	now := time.UnixMicro(began)
	r := newRecorder(t, Options{Now: func() time.Time { return now }, Folder: t.TempDir(), Keep: 10})
	var b batch
	for i := range uint32(MaxRunning + 500) {
		b.add(tap.Request, i, 0, tap.RequestHead{RequestID: fmt.Sprint("r", i)})
	}
	b.post(t, r, "1")
	if n := len(r.Summaries()); n != MaxRunning {
		t.Errorf("%d are recorded", n)
	}
	now = now.Add(MaxSilence + time.Second)
	if s := r.Summaries(); len(s) != 10 || s[0].Running || !strings.Contains(s[0].Broken, "no frame has come") {
		t.Errorf("%d are left: %+v", len(s), s)
	}
	checkMemory(t, r)
}

// TestNoFolder shows that records go on in memory when files cannot be written, and that this is logged once.
func TestNoFolder(t *testing.T) {
	folder := t.TempDir() + "/gone"
	var log bytes.Buffer
	r := newRecorder(t, Options{Folder: folder, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	var b batch
	for i := range uint32(5) {
		b.begin(i, fmt.Sprint("r", i), vllmHead())
	}
	b.post(t, r, "1")
	if n := strings.Count(log.String(), "cannot write records' files"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
	if lines, ok := r.Lines("r4"); !ok || !strings.Contains(string(lines), `"type":"sent"`) {
		t.Errorf("%s", lines)
	}
	if err := r.Close(); err == nil {
		t.Error("no error at the end")
	}
}

func TestFollow(t *testing.T) {
	r := newRecorder(t, Options{})
	if _, more := <-r.Follow(t.Context(), "nobody"); more {
		t.Error("an unknown record has lines")
	}
	var b batch
	b.begin(1, "a", vllmHead())
	b.post(t, r, "1")
	follow := r.Follow(t.Context(), "a")
	ctx, cancel := context.WithCancel(t.Context())
	given := r.Follow(ctx, "a")
	cancel()
	for range given {
	}
	got := string(<-follow) + "\n"
	b.add(tap.Answer, 1, 5, "Hi").add(tap.End, 1, 6, tap.EndReport{Status: 200})
	b.post(t, r, "1")
	for text := range follow {
		got += string(text) + "\n"
	}
	if want, _ := r.Lines("a"); got != string(want) || !strings.Contains(got, `"type":"end"`) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestSubscribe(t *testing.T) {
	r := newRecorder(t, Options{})
	events := r.Subscribe(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	given := r.Subscribe(ctx)
	cancel()
	for range given {
	}
	slow := r.Subscribe(t.Context())
	var b batch
	b.begin(1, "a", vllmHead())
	for range 4 * maxWaiting {
		b.add(tap.Answer, 1, 5, "Hi")
	}
	b.post(t, r, "1")
	first, second := <-events, <-events
	if first.Kind != Began || first.ID != "a" || !first.Summary.Running || second.Kind != Line ||
		!strings.HasPrefix(string(second.Line), `{"type":"request"`) {
		t.Errorf("%+v, %+v", first, second)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	n, lost := 0, 0
	for e := range slow {
		n++
		lost += e.Lost
	}
	if n > 2*maxWaiting+1 || lost == 0 {
		t.Errorf("%d events waited", n)
	}
	for range events {
	}
	if _, more := <-r.Subscribe(t.Context()); more {
		t.Error("a closed recorder has news")
	}
	b.begin(2, "late", vllmHead())
	if b.post(t, r, "1"); len(r.Summaries()) != 1 {
		t.Error("a closed recorder records")
	}
}

// FuzzFrames shows that no frames break the recorder, and that its memory stays within its bounds.
func FuzzFrames(f *testing.F) {
	var b batch
	b.begin(1, "a", vllmHead()).add(tap.Head, 1, 5, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	b.add(tap.Chunk, 1, 10, "data: {\"choices\":[{\"index\":0,\"token_ids\":[200005,35644,200008,25216]}]}\n\n")
	b.add(tap.AnswerHead, 1, 5, tap.ResponseHead{Status: 200}).add(tap.Answer, 1, 6, "x\xc3").add(tap.Passed, 1, 6, nil)
	whole := bytes.Clone(b.b)
	f.Add(whole, 3)
	f.Add(b.add(tap.End, 1, 7, tap.EndReport{Status: 200}).b, 40)
	for _, server := range []string{"text", "chat", "llamacpp", "ollama", "sglang"} {
		var b batch
		b.begin(1, "a", tap.SentHead{Server: server, API: "chat", Translated: true})
		b.add(tap.Head, 1, 5, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
		b.add(tap.Chunk, 1, 10, "data: {\"choices\":[{\"text\":\"<|channel|>f\",\"delta\":{\"content\":\"x\"}}]}\n\n")
		f.Add(b.b, 7)
	}
	f.Add(tap.Append(bytes.Clone(whole), tap.Frame{Kind: tap.Request, Stream: 3, At: 1<<63 - 1}), 7)
	f.Add(tap.Append(bytes.Clone(whole), tap.Frame{Kind: tap.End, Stream: 1, At: -1 << 63}), 7)
	f.Fuzz(func(t *testing.T, frames []byte, cut int) {
		r, err := New(Options{Tokenizer: o200k.Tokenizer, KeepBytes: 10_000, Keep: 2})
		if err != nil {
			t.Fatal(err)
		}
		cut = min(max(cut, 0), len(frames))
		for _, body := range [][]byte{frames[:cut], frames, frames[cut:]} {
			_ = r.take("1", body) // an error is an answer too
			checkMemory(t, r)
		}
		if _, err := json.Marshal(r.Summaries()); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Summaries() {
			lines, _ := r.Lines(s.ID)
			for text := range bytes.Lines(lines) {
				if l, err := line.Read(text); err != nil || l == nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		checkMemory(t, r)
	})
}

// TestLinesAreShared: readers of a large record take no memory for it, however many there are.
func TestLinesAreShared(t *testing.T) {
	r := newRecorder(t, Options{})
	var b batch
	b.add(tap.Request, 1, 0, tap.RequestHead{RequestID: "a"}).add(tap.Body, 1, 0, strings.Repeat("x", 1<<20))
	b.add(tap.Sent, 1, 0, vllmHead()).add(tap.Head, 1, 1, tap.ResponseHead{Status: 200})
	b.post(t, r, "1")
	early, _ := r.Lines("a")
	if n := testing.AllocsPerRun(10, func() { _, _ = r.Lines("a") }); n > 0 || len(early) < 1<<20 {
		t.Errorf("%.0f allocations for %d bytes", n, len(early))
	}
	before := string(early)
	_ = append(early, "what a reader adds"...)
	b.add(tap.End, 1, 2, tap.EndReport{Status: 200})
	b.post(t, r, "1")
	late, _ := r.Lines("a")
	if string(early) != before || !strings.HasPrefix(string(late), before) || strings.Contains(string(late), "adds") {
		t.Error("what has been read has changed")
	}
}
