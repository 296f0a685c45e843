package harmonytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// Visit is called for each token before the strict parser reads it.
type Visit func(p *harmony.StrictParser, token int64)

// CheckStream feeds a stream to the strict parser and compares everything observable after every token, errors
// included.
func CheckStream(t *tokenizer.Tokenizer, v *vectors.Stream, visit Visit) error {
	fed := v.Fed()
	if len(v.Steps) != len(fed) {
		return fmt.Errorf("%d steps for %d tokens", len(v.Steps), len(fed))
	}
	p := harmony.NewStrictParser(t, roleOf(v), v.Strict)
	content := ""
	var ids []uint32
	for i, token := range fed {
		if visit != nil {
			visit(p, token)
		}
		var err error
		if token == vectors.EOS {
			err = p.ProcessEOS()
		} else {
			ids = append(ids, uint32(token))
			err = p.Process(uint32(token))
		}
		if got := StepOf(p, err); !reflect.DeepEqual(got, v.Steps[i]) {
			return fmt.Errorf("token %d (number %d of %v):\n got %s\nwant %s", token, i, fed, Show(got), Show(v.Steps[i]))
		}
		// The reference's content is the sum of its deltas; tools/harmonyvectors checks that.
		if p.State() != harmony.InContent {
			content = ""
		}
		if content += p.LastDelta().Value; content != p.Content() {
			return fmt.Errorf("token %d (number %d of %v): content %q, want %q", token, i, fed, p.Content(), content)
		}
	}
	got := harmony.AppendMessages(nil, p.Messages())
	if !SameJSON(got, v.Messages) {
		return fmt.Errorf("messages of %v:\n got %s\nwant %s", fed, got, v.Messages)
	}
	again, err := harmony.DecodeConversation(slices.Concat([]byte(`{"messages":`), got, []byte("}")))
	if err != nil || !bytes.Equal(harmony.AppendMessages(nil, again.Messages), got) {
		return fmt.Errorf("messages of %v do not come back: %s, %w", fed, got, err)
	}
	if !slices.Equal(p.Tokens(), ids) {
		return fmt.Errorf("the parser says that it was fed %v, and it was %v", p.Tokens(), ids)
	}
	return nil
}

func roleOf(v *vectors.Stream) harmony.Role {
	if v.Role == nil {
		return 0
	}
	return harmony.RoleOf(*v.Role)
}

// StepOf returns the state of p, with the error that it has just returned.
func StepOf(p *harmony.StrictParser, err error) vectors.Step {
	s := vectors.Step{Seen: vectors.Seen{
		State: int(p.State()), Channel: pointer(p.Channel()), Recipient: pointer(p.Recipient()),
		ContentType: pointer(p.ContentType()), Delta: pointer(p.LastDelta()),
	}}
	if role := p.Role(); role != 0 {
		s.Role = pointer(harmony.Some(role.String()))
	}
	if err != nil {
		s.Error = pointer(harmony.Some(err.Error()))
	}
	return s
}

func pointer(o harmony.Optional) *string {
	if !o.Set {
		return nil
	}
	return &o.Value
}

// Show returns a step as JSON.
func Show(s vectors.Step) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// SameJSON reports whether both are the same JSON value.
func SameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
