package explain

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func TestReadIDs(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"[1, 2,3]\n", "[1 2 3]"}, {"1 2\n3\t4,5\r\n", "[1 2 3 4 5]"}, {"[]", "[]"}, {"", "[]"},
		{"[\n 4294967295 \n]", "[4294967295]"},
		{"[1", `number 1 of the input, "[1", is not a token id; for Harmony text use --text, for a server's stream --sse`},
		{"1 -2", `number 2 of the input, "-2", is not a token id; for Harmony text use --text, for a server's stream --sse`},
		{"4294967296", `number 1 of the input, "4294967296", is not a token id; for Harmony text use --text, for a ` +
			`server's stream --sse`},
		{"\x1b[31m", `number 1 of the input, "\x1b[31m", is not a token id; for Harmony text use --text, for a server's ` +
			`stream --sse`},
	} {
		ids, err := ReadIDs(strings.NewReader(tt.in))
		got := fmt.Sprint(ids)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestReadText(t *testing.T) {
	for in, want := range map[string]string{"": "", "<|end|>\n": "<|end|>", "a\r\n": "a", "a\n\n": "a\n", "a": "a"} {
		ids, err := ReadText(o200k.Tokenizer(), strings.NewReader(in))
		if got := o200k.Tokenizer().DecodeString(ids); err != nil || got != want {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
}

func TestReadSSE(t *testing.T) {
	const first = `data: {"choices":[{"index":0,"text":"","token_ids":[200008,13225]}]}` + "\n\n"
	for _, tt := range []struct{ name, in, ids, err string }{
		{"whole", ": hello\n" + first + `data: {"choices":[{"text":"!","token_ids":[200002],"finish_reason":"stop"}]}` +
			"\n\ndata: [DONE]\n\n", "[200008 13225 200002]", ""},
		{"chat chunks", `data: {"choices":[{"delta":{"content":"a"},"token_ids":[64]}]}` + "\n\n", "[64]", ""},
		{"cut", strings.TrimRight(first, "\n"), "[200008 13225]", ""},
		{"error", first + `data: {"error":{"message":"out of memory\u001b"}}` + "\n\n", "[200008 13225]",
			`event 2 is an error, "out of memory\x1b"; what came before it is explained`},
		{"text only", `data: {"choices":[{"text":"Hi"}]}` + "\n\n", "[]", `ask with "return_token_ids": true`},
		{"not JSON", "data: hello\n\n", "[]", `event 1, "hello", is not an event of a completion's stream`},
		{"no events", "[1,2]", "[]", "no events found"},
		{"huge event", "data: " + strings.Repeat("x", 5<<20), "[]", "larger than 4 MiB"},
	} {
		ids, err := ReadSSE(strings.NewReader(tt.in))
		if fmt.Sprint(ids) != tt.ids || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %v, %v", tt.name, ids, err)
		}
	}
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '1'
	}
	return len(p), nil
}

type failing struct{}

var errFailing = errors.New("failing")

func (failing) Read([]byte) (int, error) { return 0, errFailing }

func TestInputLimits(t *testing.T) {
	for name, read := range map[string]func(io.Reader) ([]uint32, error){
		"ids": ReadIDs, "sse": ReadSSE, "text": func(r io.Reader) ([]uint32, error) { return ReadText(o200k.Tokenizer(), r) },
	} {
		if _, err := read(endless{}); err == nil || !strings.Contains(err.Error(), "64 MiB") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := read(failing{}); !errors.Is(err, errFailing) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
