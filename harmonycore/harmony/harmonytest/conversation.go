package harmonytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// CheckConversation renders a conversation in every way and compares ids and errors with the reference's.
func CheckConversation(t *tokenizer.Tokenizer, v *vectors.Conversation) error {
	r := harmony.NewRenderer(t)
	policy := harmony.KeepAnalysis
	if v.Drop != nil && *v.Drop {
		policy = harmony.DropReference
	}
	render := func(what, text string, want *vectors.Rendered, how func(c *harmony.Conversation) ([]uint32, error)) error {
		c, err := harmony.DecodeConversation([]byte(text))
		var ids []uint32
		if err == nil {
			ids, err = how(c)
		}
		if problem := compare(t, ids, err, want); problem != nil {
			return fmt.Errorf("%s of %s\n%w", what, text, problem)
		}
		return nil
	}
	problem := errors.Join(
		render("completion", v.Text, &v.Completion, func(c *harmony.Conversation) ([]uint32, error) {
			return r.AppendCompletion(nil, c, harmony.RoleOf(v.NextRole), policy)
		}),
		render("training", v.Text, &v.Training, func(c *harmony.Conversation) ([]uint32, error) {
			return r.AppendTraining(nil, c, policy)
		}),
		render("plain rendering", v.Text, &v.Plain, func(c *harmony.Conversation) ([]uint32, error) {
			return r.AppendConversation(nil, c, policy)
		}))
	if v.Message == "" {
		return problem
	}
	return errors.Join(problem, render("one message", `{"messages":[`+v.Message+`]}`, &v.Alone,
		func(c *harmony.Conversation) ([]uint32, error) { return r.AppendMessage(nil, &c.Messages[0]) }))
}

func compare(t *tokenizer.Tokenizer, ids []uint32, err error, want *vectors.Rendered) error {
	switch {
	case want.Error != nil && err == nil:
		return fmt.Errorf(" got %q\nwant error %s", t.DecodeString(ids), want.Error.Message)
	case want.Error != nil:
		if !sameError(err.Error(), want.Error.Message) {
			return fmt.Errorf(" got error %w\nwant error %s", err, want.Error.Message)
		}
	case err != nil:
		return fmt.Errorf(" got error %w\nwant %q", err, t.DecodeString(want.IDs))
	case !slices.Equal(ids, want.IDs):
		return fmt.Errorf(" got %v %q\nwant %v %q", ids, t.DecodeString(ids), want.IDs, t.DecodeString(want.IDs))
	}
	return nil
}

// sameError reports whether two error texts mean the same. After these prefixes the reference continues with the text
// of its JSON library, or with a name that ours does not have. A single message is a conversation of one message to
// ours.
func sameError(got, want string) bool {
	for reference, core := range map[string]string{
		"invalid conversation JSON: ": "invalid conversation JSON: ", "invalid message JSON: ": "invalid conversation JSON: ",
		"unknown role": "unknown role",
	} {
		if strings.HasPrefix(want, reference) {
			return strings.HasPrefix(got, core)
		}
	}
	return got == want
}
