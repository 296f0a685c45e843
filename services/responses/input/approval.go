package input

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Approval is a client's answer to a question for approval.
type Approval struct {
	// At is its place in the request, and Question the id of the question.
	At, Question string
	// Denied reports whether the client does not want the call.
	Denied bool
	// Label, Name and Arguments are the call's, and Sampled the ids with which the model has written it.
	Label, Name, Arguments, Sampled string
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
	st, failure := r.source.Stored()
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
		return store.Item{}, r.source.failure(err, at, missing)
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
	r.Approvals = slices.DeleteFunc(r.Approvals, func(a Approval) bool { return settled[a.Question] })
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
	if slices.ContainsFunc(r.Approvals, func(a Approval) bool { return a.Question == answer.ID }) {
		return AnsweredAlready(at, answer.ID)
	}
	a := Approval{At: at, Question: answer.ID, Denied: !*answer.Approve}
	var call struct {
		Label     string `json:"server_label"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		Sampled   string `json:"harmony_sampled_ids"`
	}
	if err := json.Unmarshal(item.Body, &call); err != nil {
		return r.source.failure(&store.CorruptError{Record: "item " + answer.ID, Err: err}, at, nil)
	}
	a.Label, a.Name, a.Arguments, a.Sampled = call.Label, call.Name, call.Arguments, call.Sampled
	if len(r.Approvals) == maxReferences {
		return refusal.Bad(contract.CodeInvalidValue, at, fmt.Sprintf("Invalid '%s': more than %d answers.", at,
			maxReferences))
	}
	r.Approvals = append(r.Approvals, a)
	if !a.Denied {
		return nil
	}
	text := "The user has not approved this call."
	if answer.Reason != "" {
		text += " Reason: " + answer.Reason
	}
	fields[items.HiddenItems] = items.JSON(items.PlainPair(answer.ID, a.Label, items.FunctionName(a.Name), a.Arguments,
		text))
	if a.Sampled != "" {
		fields[items.HiddenSampled] = items.JSON(a.Sampled)
	}
	return nil
}

// AnsweredAlready returns the error for a second answer to a question.
func AnsweredAlready(at, question string) *openai.Error {
	return refusal.Bad(contract.CodeInvalidValue, at, "Invalid '"+at+"': the approval request "+refusal.Quote(question)+
		" has been answered already.")
}
