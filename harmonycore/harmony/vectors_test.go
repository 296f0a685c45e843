package harmony

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// The vectors are what the reference itself gave (tools/harmonyvectors/generate.py). HARMONY_VECTORS names a folder
// with more of them.

func vectorFolders() []string {
	folders := []string{"testdata"}
	if more := os.Getenv("HARMONY_VECTORS"); more != "" {
		folders = append(folders, more)
	}
	return folders
}

// eachVector decodes each line of a file. A file that is missing or empty is a failure, never a pass.
func eachVector[T any](t *testing.T, name string, check func(t *testing.T, id int, v *T)) {
	for _, folder := range vectorFolders() {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		n := 0
		for ; lines.Scan(); n++ {
			var v T
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				t.Fatalf("%s: line %d: %v", f.Name(), n+1, err)
			}
			check(t, n, &v)
		}
		if err := lines.Err(); err != nil || n == 0 {
			t.Fatalf("%s: %d vectors, %v", f.Name(), n, err)
		}
		t.Logf("%s: %d vectors", f.Name(), n)
	}
}

type vectorError struct {
	Class   string
	Message string
}

type renderVector struct {
	Conversation string          `json:"conversation_json"`
	NextRole     string          `json:"next_role"`
	Drop         bool            `json:"auto_drop_analysis"`
	Completion   json.RawMessage `json:"completion"`
	Training     json.RawMessage `json:"training"`
	Plain        json.RawMessage `json:"plain"`
	MessageJSON  string          `json:"message_json"`
	Message      json.RawMessage `json:"message"`
}

func TestRenderVectors(t *testing.T) {
	r := NewRenderer(o200k.Tokenizer())
	eachVector(t, "render.jsonl", func(t *testing.T, id int, v *renderVector) {
		policy := KeepAnalysis
		if v.Drop {
			policy = DropReference
		}
		c, err := DecodeConversation([]byte(v.Conversation))
		if err != nil {
			wantInputError(t, id, v.Plain, err)
			wantInputError(t, id, v.Completion, err)
			return
		}
		ids, err := r.AppendCompletion(nil, c, RoleOf(v.NextRole), policy)
		base := wantIDs(t, id, "completion", v.Completion, nil, ids, err)
		ids, err = r.AppendTraining(nil, c, policy)
		wantIDs(t, id, "training", v.Training, base, ids, err)
		ids, err = r.AppendConversation(nil, c, policy)
		wantIDs(t, id, "plain", v.Plain, base, ids, err)
		if v.MessageJSON == "" {
			return
		}
		alone, err := DecodeConversation([]byte(`{"messages":[` + v.MessageJSON + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		ids, err = r.AppendMessage(nil, &alone.Messages[0])
		wantIDs(t, id, "message", v.Message, base, ids, err)
	})
}

func wantInputError(t *testing.T, id int, want json.RawMessage, err error) {
	t.Helper()
	var w struct{ Error *vectorError }
	if json.Unmarshal(want, &w) != nil || w.Error == nil || w.Error.Class != "ValueError" {
		t.Errorf("%d: refused with %q, want %.200s", id, err, want)
		return
	}
	// Behind the prefix the reference prints its JSON library's own words.
	if prefix := "invalid conversation JSON: "; !strings.HasPrefix(err.Error(), prefix) || !strings.HasPrefix(w.Error.Message, prefix) {
		t.Errorf("%d: refused with %q, want %q", id, err, w.Error.Message)
	}
}

// wantIDs returns the ids that were wanted, which the next results are written as changes of.
func wantIDs(t *testing.T, id int, what string, want json.RawMessage, base, got []uint32, err error) []uint32 {
	t.Helper()
	var w struct{ Error *vectorError }
	if bytes.HasPrefix(want, []byte("{")) {
		if json.Unmarshal(want, &w) != nil || err == nil || !strings.HasPrefix(w.Error.Message, err.Error()) {
			t.Errorf("%d: %s: got %v, want %s", id, what, err, want)
		}
		return nil
	}
	var ids []uint32
	if what == "completion" {
		if e := json.Unmarshal(want, &ids); e != nil {
			t.Fatal(e)
		}
	} else {
		var change [2]json.RawMessage
		var keep int
		if json.Unmarshal(want, &change) != nil || json.Unmarshal(change[0], &keep) != nil || json.Unmarshal(change[1], &ids) != nil {
			t.Fatalf("%d: %s: unreadable", id, what)
		}
		ids = slices.Concat(base[:keep], ids)
	}
	if err != nil {
		t.Errorf("%d: %s: %v", id, what, err)
	} else if !slices.Equal(got, ids) {
		tk := o200k.Tokenizer()
		t.Errorf("%d: %s differs\n got %q\nwant %q", id, what, tk.DecodeString(got), tk.DecodeString(ids))
	}
	return ids
}

type parseVector struct {
	Tokens   []uint32
	Role     *string
	Strict   bool
	Resume   bool
	Steps    []json.RawMessage
	EOS      json.RawMessage
	Messages json.RawMessage
}

func TestParseVectors(t *testing.T) {
	tk := o200k.Tokenizer()
	eachVector(t, "parse.jsonl", func(t *testing.T, id int, v *parseVector) {
		role := Role(0)
		if v.Role != nil {
			role = RoleOf(*v.Role)
		}
		p := NewStrictParser(tk, role, v.Strict)
		var want json.RawMessage
		deltas := ""
		for i, step := range v.Steps {
			if string(step) != "0" {
				want = step
			}
			err := p.Process(v.Tokens[i])
			if got := observed(p, err); !sameJSON(got, want) {
				t.Errorf("%d: step %d of %v: got %s, want %s", id, i, v.Tokens, got, want)
				return
			}
			if p.State() != InContent {
				deltas = ""
			}
			if deltas += p.LastDelta().Value; deltas != p.Content() {
				t.Errorf("%d: step %d: content %q, deltas %q", id, i, p.Content(), deltas)
			}
		}
		if v.EOS != nil {
			if got := observed(p, p.ProcessEOS()); !sameJSON(got, v.EOS) {
				t.Errorf("%d: at the end of %v: got %s, want %s", id, v.Tokens, got, v.EOS)
			}
		}
		if got := AppendMessages(nil, p.Messages()); !sameJSON(got, v.Messages) {
			t.Errorf("%d: messages of %v\n got %s\nwant %s", id, v.Tokens, got, v.Messages)
		}
		if !slices.Equal(p.Tokens(), v.Tokens[:len(v.Steps)]) {
			t.Errorf("%d: tokens %v", id, p.Tokens())
		}
	})
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	ax, _ := json.Marshal(x)
	by, _ := json.Marshal(y)
	return bytes.Equal(ax, by)
}

func observed(p *StrictParser, err error) []byte {
	str := func(o Optional) any {
		if o.Set {
			return o.Value
		}
		return nil
	}
	six := []any{p.State(), nil, str(p.Channel()), str(p.Recipient()), str(p.ContentType()), str(p.LastDelta())}
	if p.Role() != 0 {
		six[1] = p.Role().String()
	}
	var out []byte
	if err == nil {
		out, _ = json.Marshal(six)
	} else {
		out, _ = json.Marshal(map[string]any{"error": map[string]string{"class": "HarmonyError", "message": err.Error()}, "after": six})
	}
	return out
}

// TestStreamParserOnVectors holds the tolerant parser against every token stream: its invariants, and the strict
// parser wherever that found nothing wrong and the quirks that we repair play no part.
func TestStreamParserOnVectors(t *testing.T) {
	compared := 0
	eachVector(t, "parse.jsonl", func(t *testing.T, id int, v *parseVector) {
		checkInvariants(t, v.Tokens)
		if v.Role == nil || *v.Role != "assistant" {
			return
		}
		p := NewStrictParser(o200k.Tokenizer(), Assistant, true)
		for _, token := range v.Tokens {
			if p.Process(token) != nil {
				return
			}
		}
		if p.State() == InHeader {
			return
		}
		got := record(v.Tokens)
		if p.ProcessEOS() != nil || got.seen != (Recoveries{}) || isQuirk(p.Messages()) {
			return
		}
		compared++
		if want := p.Messages(); !slices.EqualFunc(got.messages, want, sameMessage) {
			t.Errorf("%d: %v\n got %+v\nwant %+v", id, v.Tokens, got.messages, want)
		}
	})
	if compared < 10 {
		t.Errorf("only %d streams were compared", compared)
	}
}

// isQuirk leaves out what the reference reads from a marker's spelling, lone words that it takes for recipients, and
// spaces other than ASCII's, which end no word there.
func isQuirk(messages []Message) bool {
	for _, m := range messages {
		if strings.Contains(m.Recipient.Value+m.Channel.Value+m.ContentType.Value, "<") && m.ContentType.Value != "<|constrain|>json" {
			return true
		}
		if strings.ContainsFunc(m.Recipient.Value+m.ContentType.Value, unicode.IsSpace) {
			return true
		}
		if m.Recipient.Set && !strings.Contains(m.Recipient.Value, ".") || m.Role == Tool {
			return true
		}
	}
	return false
}

func sameMessage(a recorded, b Message) bool {
	return a.Role == b.Role && a.Name == b.Name.Value && a.Channel == b.Channel.Value && a.Recipient == b.Recipient.Value &&
		a.ContentType == strings.TrimPrefix(b.ContentType.Value, constrainSpelling) && a.text == b.Content[0].Text
}
