package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// approval is a client's answer to a question for approval.
type approval struct {
	// At is its place in the request, and Question the id of the question.
	At, Question string
	// Denied reports whether the client does not want the call.
	Denied bool
	// Label, Name and Arguments are the call's.
	Label, Name, Arguments string
}

// readQuestion returns the question that a client has sent back with its conversation. The stored call counts:
// it is run as it was asked for.
func (r *Reader) readQuestion(ctx context.Context, at, id string,
	fields map[string]json.RawMessage) (store.Item, *openai.Error) {
	item, failure := r.question(ctx, at, id)
	if failure != nil {
		return item, failure
	}
	r.seen[id] = true
	var sent, stored struct{ Name, Arguments string }
	if json.Unmarshal(item.Body, &stored) == nil && json.Unmarshal(items.JSON(fields), &sent) == nil && sent != stored {
		return item, refusal.Bad(contract.CodeInvalidValue, at, "Invalid '"+at+"': the approval request "+refusal.Quote(id)+
			" was for another call.")
	}
	return item, nil
}

// question returns a question that has been stored.
func (r *Reader) question(ctx context.Context, at, id string) (store.Item, *openai.Error) {
	if item := r.questions[id]; item != nil {
		return *item, nil
	}
	st, failure := r.env.Stored()
	if failure != nil {
		return store.Item{}, failure
	}
	missing := refusal.Bad(contract.CodeInvalidValue, at,
		"Approval request with id "+refusal.Quote(id)+" not found. A call can be "+
			"approved if the response that asked for it was stored. Try again with `store` set to true.")
	if r.references++; r.references > maxReferences {
		return store.Item{}, missing
	}
	item, err := st.Item(ctx, r.tenant, id, r.pay)
	if err == nil && item.Type != items.TypeApprovalRequest {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Item{}, r.env.failure(err, at, missing)
	}
	r.questions[id] = &item
	return item, nil
}

// dropSettled drops the answers whose calls are among the items. Clients that keep a conversation themselves send all
// of it again, with the answers that they have given.
func (r *Reader) dropSettled(list []store.Item) {
	settled := map[string]bool{}
	for i := range list {
		var call struct {
			Question string `json:"approval_request_id"`
		}
		if list[i].Type == items.TypeMCPCall && json.Unmarshal(list[i].Body, &call) == nil {
			settled[call.Question] = true
		}
	}
	r.approvals = slices.DeleteFunc(r.approvals, func(a approval) bool { return settled[a.Question] })
}

// readAnswer reads an answer to a question. For a call that the client does not want, it is what the model gets.
func (r *Reader) readAnswer(ctx context.Context, at string, fields map[string]json.RawMessage) *openai.Error {
	var answer struct {
		ID      string `json:"approval_request_id"`
		Approve *bool  `json:"approve"`
		Reason  string `json:"reason"`
	}
	if json.Unmarshal(items.JSON(fields), &answer) != nil || answer.Approve == nil {
		return refusal.WrongType(at, "an answer with approval_request_id and approve")
	}
	item, failure := r.question(ctx, at+".approval_request_id", answer.ID)
	if failure != nil {
		return failure
	}
	if slices.ContainsFunc(r.approvals, func(a approval) bool { return a.Question == answer.ID }) {
		return answeredAlready(at, answer.ID)
	}
	a := approval{At: at, Question: answer.ID, Denied: !*answer.Approve}
	var call struct {
		Label     string `json:"server_label"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	if err := json.Unmarshal(item.Body, &call); err != nil {
		return r.env.failure(&store.CorruptError{Record: "item " + answer.ID, Err: err}, at, nil)
	}
	a.Label, a.Name, a.Arguments = call.Label, call.Name, call.Arguments
	if len(r.approvals) == maxReferences {
		return refusal.Bad(contract.CodeInvalidValue, at, fmt.Sprintf("Invalid '%s': more than %d answers.", at,
			maxReferences))
	}
	r.approvals = append(r.approvals, a)
	if !a.Denied {
		return nil
	}
	text := "The user has not approved this call."
	if answer.Reason != "" {
		text += " Reason: " + answer.Reason
	}
	fields[items.HiddenItems] = items.JSON(items.PlainPair(answer.ID, a.Label, items.FunctionName(a.Name), a.Arguments,
		text))
	return nil
}

func answeredAlready(at, question string) *openai.Error {
	return refusal.Bad(contract.CodeInvalidValue, at, "Invalid '"+at+"': the approval request "+refusal.Quote(question)+
		" has been answered already.")
}

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
		c.Approved = a.Question
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
	response.Status, response.Usage = store.InProgress, nil
	t.last = t.object(response)
	t.opened, t.deadline = true, time.Now().Add(t.settings.Tools.Time)
	err := t.open(t.last, emit)
	if err == nil {
		err = t.showOwn(emit)
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
				return answeredAlready(t.approvals[i].At, again.ID)
			}
		}
	}
	return t.env.failure(err, "", refusal.StoreAway())
}
