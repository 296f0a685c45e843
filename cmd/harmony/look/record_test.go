package look

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

const tapKey = "a key of many characters"

func TestRecordRefusals(t *testing.T) {
	for _, tt := range []struct{ args, key, want string }{
		{"", tapKey, "no folder is given; see harmony record --help"},
		{"a b", tapKey, `"b" is one folder too many`},
		{"a", "short", "HARMONY_TAP_KEY has no key of at least 16 characters"},
		{"a", "", "openssl rand -hex 16"},
		{"--color sometimes a", tapKey, "--color sometimes is not known"},
		{clitest.WriteFile(t, "file", ""), tapKey, "the folder of records"},
		{"--listen 127.0.0.1 " + t.TempDir(), tapKey, "--listen"},
	} {
		t.Setenv(contract.TapKeyVariable, tt.key)
		code, _, stderr := command(t, t.Context(), append([]string{"record"}, strings.Fields(tt.args)...)...)
		if code != cli.ExitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("record %s: exit %d\n%s", tt.args, code, stderr)
		}
	}
}

// TestRecord records a request as the filter sends it, and explains the file.
func TestRecord(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, tapKey)
	t.Setenv("NO_COLOR", "1")
	folder := filepath.Join(t.TempDir(), "records")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	in, out := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"record", "--listen", "127.0.0.1:0", "-v", folder}, out, &stderr)
		out.Close()
	}()
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		t.Fatal("nothing printed")
	}
	_, url, _ := strings.Cut(lines.Text(), "what Envoys send to ")

	var frames []byte
	add := func(kind tap.Kind, payload any) {
		text, ok := payload.(string)
		if !ok {
			j, _ := json.Marshal(payload)
			text = string(j)
		}
		frames = tap.Append(frames, tap.Frame{Kind: kind, Stream: 3, At: 1_800_000_000_000_000, Payload: []byte(text)})
	}
	add(tap.Request, tap.RequestHead{Method: "POST", Path: "/v1/chat/completions", RequestID: "r-1"})
	add(tap.Body, `{"messages":[]}`)
	add(tap.Sent, tap.SentHead{Path: "/v1/completions", API: "chat", Model: "m", Server: "vllm", Translated: true})
	add(tap.Head, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	add(tap.Chunk, "data: {\"choices\":[{\"token_ids\":[200008,13225,200007,200007]}]}\n\n")
	for _, key := range []string{"another key of many characters", tapKey} {
		q, err := http.NewRequestWithContext(ctx, "POST", url+tap.Path, bytes.NewReader(frames))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set(tap.KeyHeader, key)
		q.Header.Set(tap.VMHeader, "7")
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if want := map[bool]int{true: 204, false: 403}[key == tapKey]; answer.StatusCode != want {
			t.Errorf("with the key %s: %d", key, answer.StatusCode)
		}
	}
	var printed strings.Builder
	for !strings.Contains(printed.String(), "Hello") {
		if !lines.Scan() {
			t.Fatal(printed.String())
		}
		printed.WriteString(lines.Text() + "\n")
	}
	stop()
	for lines.Scan() {
		printed.WriteString(lines.Text() + "\n")
	}
	if got := <-code; got != 0 || stderr.Len() > 0 {
		t.Fatalf("exit %d\n%s\n%s", got, stderr.String(), printed.String())
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*-r-1.jsonl"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	for path, want := range map[string]os.FileMode{folder: 0o700 | os.ModeDir, files[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
		}
	}
	exit, explained, complaint := command(t, t.Context(), "inspect", "explain", "--times", files[0])
	for _, want := range []string{"== request at 2027-01-15T08:00:00Z  POST /v1/chat/completions  [r-1]",
		`@0.0 ms 200008 <|message|>  13225 "Hello"  200007 <|end|>`, "token 3 at 0.0 ms: stray_terminator",
		"the recorder was closed"} {
		if !strings.Contains(explained, want) {
			t.Errorf("%q is not in\n%s", want, explained)
		}
	}
	if exit != 0 {
		t.Errorf("explain: exit %d, %s", exit, complaint)
	}
	exit, _, complaint = command(t, t.Context(), "inspect", "explain", "--times", clitest.WriteFile(t, "ids", "[1]"))
	if exit != cli.ExitUsage || !strings.Contains(complaint, "--times is for records") {
		t.Errorf("explain --times of ids: exit %d, %s", exit, complaint)
	}
}

// TestRecordUnread checks that the program ends even if its output is not read.
func TestRecordUnread(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, tapKey)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	in, out := io.Pipe()
	defer in.Close()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"record", "--listen", "127.0.0.1:0", t.TempDir()}, out, io.Discard)
	}()
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		t.Fatal("nothing printed")
	}
	_, url, _ := strings.Cut(lines.Text(), "what Envoys send to ")
	frame := tap.Append(nil, tap.Frame{Kind: tap.Request, Stream: 3, At: 1_800_000_000_000_000, Payload: []byte("{}")})
	q, err := http.NewRequestWithContext(ctx, "POST", url+tap.Path, bytes.NewReader(frame))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set(tap.KeyHeader, tapKey)
	q.Header.Set(tap.VMHeader, "7")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	stop() // the line of the request waits for a reader now
	if got := <-code; got != 0 {
		t.Errorf("exit %d", got)
	}
}
