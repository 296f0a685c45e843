package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// approvedCalls returns the calls that the client has approved.
func (l *loop) approvedCalls() ([]*hosted.Call, *openai.Error) {
	calls := make([]*hosted.Call, 0, len(l.approvals))
	for i := range l.approvals {
		a := &l.approvals[i]
		if a.Denied {
			continue
		}
		m := l.hosted.Server(a.Label)
		var tool *hosted.Tool
		if m != nil {
			tool = m.Named(a.Name)
		}
		if tool == nil {
			return nil, refusal.Bad(contract.CodeInvalidValue, a.At, "Invalid '"+a.At+"': the approved call is for the tool "+
				refusal.Quote(a.Name)+" of the MCP server "+refusal.Quote(a.Label)+". Send that server in 'tools' again.")
		}
		c := m.Call(tool, a.Name, a.Arguments)
		c.Approved, c.Sampled = a.Question, a.Sampled
		if calls = append(calls, c); len(calls) > maxCallsOfRound {
			return nil, refusal.Bad(contract.CodeInvalidValue, a.At,
				fmt.Sprintf("Invalid '%s': a request can approve %d calls.",
					a.At, maxCallsOfRound))
		}
	}
	return calls, nil
}

// runApproved runs the calls that the client has approved, before the model is asked. The gateway checks the request
// first, because a call cannot be taken back.
func (t *Turn) runApproved(ctx context.Context, emit func(*upstream.Event) error) error {
	if len(t.approvals) == 0 {
		return nil
	}
	calls, failure := t.approvedCalls()
	if failure != nil {
		return &refusedError{failure}
	}
	if len(calls) == 0 {
		if failure := t.useApprovals(ctx); failure != nil {
			return &refusedError{failure}
		}
		return nil
	}
	response, failure := t.check(ctx)
	if failure == nil {
		failure = t.useApprovals(ctx)
	}
	if failure != nil {
		return &refusedError{failure}
	}
	t.deadline = time.Now().Add(t.settings.Tools.Time)
	var err error
	if !t.opened {
		response.Status, response.Usage = store.InProgress, nil
		t.last, t.opened = t.object(response), true
		if err = t.open(t.last, emit); err == nil {
			err = t.showOwn(emit)
		}
	}
	if err == nil {
		err = t.perform(ctx, calls, emit)
	}
	return err
}

// useApprovals notes that the answers have been used. Each is used once, but for a denial, which clients send again
// with the rest of a conversation.
func (t *Turn) useApprovals(ctx context.Context) *openai.Error {
	st, failure := t.env.Stored()
	if failure != nil {
		return failure
	}
	ids := make([]string, 0, len(t.approvals))
	var again *store.UsedError
	for i := range t.approvals {
		a := &t.approvals[i]
		if !a.Denied {
			ids = append(ids, a.Question)
		} else if err := st.UseApprovals(ctx, t.owner, []string{a.Question}); err != nil && !errors.As(err, &again) {
			return t.env.failure(err, "", refusal.StoreAway())
		}
	}
	err := st.UseApprovals(ctx, t.owner, ids)
	if errors.As(err, &again) {
		for i := range t.approvals {
			if t.approvals[i].Question == again.ID {
				return input.AnsweredAlready(t.approvals[i].At, again.ID)
			}
		}
	}
	return t.env.failure(err, "", refusal.StoreAway())
}
