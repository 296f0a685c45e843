package explain

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func explainedRequest(t testing.TB, text string, o Options) (string, error) {
	t.Helper()
	q, err := ReadRequest(strings.NewReader(text))
	if q == nil {
		return "", err
	}
	var out bytes.Buffer
	if err := WriteRequest(&out, o200k.Tokenizer(), q, o); err != nil {
		t.Fatal(err)
	}
	checkSafe(t, out.String(), nil, o)
	return out.String(), err
}

// TestGoldenRequests compares the transcript of the record testdata/NAME.jsonl with testdata/NAME.golden.
func TestGoldenRequests(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !BeginsRecord(text) {
			t.Errorf("%s does not begin as a record", file)
		}
		got, err := explainedRequest(t, string(text), Options{Width: 76})
		if err != nil {
			t.Error(err)
		}
		timed, _ := explainedRequest(t, string(text), Options{Width: 60, Times: true})
		bare, _ := explainedRequest(t, string(text), Options{Width: 90, Color: true, NoIDs: true})
		got += "=== times\n" + timed + "=== colours, no ids\n" + strings.ReplaceAll(bare, "\x1b", "ESC")
		golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s differs, %v\n got\n%s\nwant\n%s", golden, err, got, want)
		}
	}
}

func TestBrokenRecords(t *testing.T) {
	const first = `{"type":"request","at_ms":0,"record":1,"time":"2027-01-15T08:00:00Z"}` + "\n"
	for _, tt := range []struct{ in, out, err string }{
		{"", "", "the record is empty"},
		{`{"type":"request",`, "", "line 1 is not the first line of a record"},
		{`{"type":"request","record":2}`, "", "the record has version 2; this program reads 1"},
		{`{"type":"end"}` + "\n" + first, "", "the first line is not that of a record"},
		{first + first, "== request at", "line 2 begins another record; explain each file alone"},
		{first + `{"type":"end",`, "the request runs, or its recorder was stopped", "line 2 of the record cannot be read"},
		{first + `{"type":"tokens","choice":-1,"ids":[1]}` + "\n" + `{"type":"tokens","choice":1000000000}` + "\n" +
			`{"type":"message","choice":128}` + "\n" + `{"type":"recovery","choice":-5}`, "== request at", ""},
		{first + strings.Repeat(`{"type":"sent"}`+"\n", 50), "sent after", ""},
	} {
		out, err := explainedRequest(t, tt.in, Options{Width: 80})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(out, tt.out) || (tt.err == "") != (err == nil) || !strings.Contains(got, tt.err) {
			t.Errorf("%.60q: got %s, %v", tt.in, out, err)
		}
	}
}

// TestCacheMissed prints why a cache was missed.
func TestCacheMissed(t *testing.T) {
	const first = `{"type":"request","record":1,"time":"2027-01-15T08:00:00Z"}` + "\n"
	for cache, want := range map[string]string{
		`{"reason":"tools","earlier":"r-\u001b1","message":2,"was":2,"common":94,"cached":80,"computed":40,"again":38}`: "== the cache was missed: tools, from #2 on  94 tokens as in r-\\x1b1  80 cached  40 computed  38 of them again\n",
		`{"reason":"evicted","earlier":"r-1","common":1,"cached":0,"computed":9,"again":1}`:                             "== the cache was missed: evicted  1 token as in r-1  0 cached  9 computed  1 of them again\n",
		`{"reason":"none","earlier":"r-1","common":94,"cached":80,"computed":40,"again":14}`:                            "== nothing of the cache was missed  94 tokens as in r-1  80 cached  40 computed  14 of them again\n",
	} {
		out, err := explainedRequest(t, first+`{"type":"end","at_ms":1,"cache":`+cache+"}", Options{Width: 200})
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", cache, err, out)
		}
	}
}

// FuzzRequest shows that whatever a record has can be printed.
func FuzzRequest(f *testing.F) {
	for _, file := range []string{"testdata/request.jsonl", "testdata/failed.jsonl"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) { _, _ = explainedRequest(t, text, Options{Width: 40, Times: true}) })
}
