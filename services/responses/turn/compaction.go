package turn

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// summarize asks the model for a summary of items.
func (t *Turn) summarize(ctx context.Context, list []json.RawMessage) (text string, usage json.RawMessage,
	failure *openai.Error) {
	body := input.Plain(items.SummaryFields(t.Request.Fields), append(items.ForSummary(list), items.SummaryRequest()),
		false)
	var answer struct {
		Status string            `json:"status"`
		Output []json.RawMessage `json:"output"`
		Usage  json.RawMessage   `json:"usage"`
	}
	if failure := t.postFor(ctx, contract.ResponsesPath, body, &answer); failure != nil {
		return "", nil, failure
	}
	text, err := items.FinalText(answer.Output)
	if answer.Status != items.Completed {
		err = items.ErrNoSummary
	}
	if err != nil {
		return "", nil, &openai.Error{Status: http.StatusBadGateway, Type: contract.ServerErrorType,
			Code:    contract.CodeServerError,
			Message: "The conversation could not be compacted: " + err.Error() + ". Try again."}
	}
	return text, answer.Usage, nil
}

// compact replaces what the model is asked with by a summary and the newest items, if the request allows that and is
// long enough.
func (t *Turn) compact(ctx context.Context) *openai.Error {
	threshold := t.Request.CompactThreshold()
	if threshold == 0 || t.triggered {
		return nil
	}
	list := t.asked()
	end := items.Tail(list)
	body := t.body()
	if end == 0 || int64(len(body)) <= threshold { // a token has at least one byte
		return nil
	}
	var count struct {
		Tokens int64 `json:"input_tokens"`
	}
	if failure := t.postFor(ctx, contract.InputTokensPath, body, &count); failure != nil {
		return failure
	}
	if count.Tokens <= threshold {
		return nil
	}
	summary, _, failure := t.summarize(ctx, list[:end])
	if failure != nil {
		return failure
	}
	newest := list[end:]
	for i := range newest {
		newest[i] = items.WithoutSampled(newest[i])
	}
	payload := string(items.JSON(items.Compaction{Summary: summary, Tools: items.Declared(list[:end]), Items: newest}))
	t.compaction, t.shortened = t.settings.Sealer.NewCompaction(payload, t.bound), items.Expand(payload)
	return nil
}

// takeTrigger returns the items of the input without the one that asks for a compaction.
func (t *Turn) takeTrigger() []json.RawMessage {
	list := t.Request.Input
	if len(list) == 0 {
		return list
	}
	var last struct{ Type string }
	if json.Unmarshal(list[len(list)-1], &last) != nil || last.Type != items.TypeTrigger {
		return list
	}
	t.triggered = true
	return list[:len(list)-1]
}

// takeSummary reads an event of the answer to a request for a summary. It makes the compaction of the last one. An
// event that the client does not get has no kind afterwards.
func (t *Turn) takeSummary(e *upstream.Event, emit func(*upstream.Event) error) error {
	switch e.Kind {
	case "response.created", "response.in_progress", "response.failed":
		return nil
	case "response.output_item.done":
		var body struct{ Item json.RawMessage }
		if err := json.Unmarshal(e.Data, &body); err != nil {
			return err
		}
		t.summary = append(t.summary, body.Item)
	case "response.completed":
		text, err := items.FinalText(t.summary)
		if err != nil {
			return err
		}
		t.compaction = t.compactionOf(text, t.asked())
		return t.showItem(t.compaction, emit)
	case "response.incomplete":
		return items.ErrNoSummary
	}
	e.Kind = ""
	return nil
}

// compactionOf returns the item that stands for a list of which this is the summary.
func (t *Turn) compactionOf(summary string, list []json.RawMessage) json.RawMessage {
	payload := items.JSON(items.Compaction{Summary: summary, Tools: items.Declared(list)})
	return t.settings.Sealer.NewCompaction(string(payload), t.bound)
}

// CompactAll returns the user's messages and an item that stands for everything else.
func (t *Turn) CompactAll(ctx context.Context) ([]byte, *openai.Error) {
	if len(t.past)+len(t.input) == 0 {
		return nil, refusal.Bad(contract.CodeMissingParameter, "input", "Missing required parameter: 'input', or "+
			"'previous_response_id'.")
	}
	list := t.asked()
	summary, usage, failure := t.summarize(ctx, list)
	if failure != nil {
		return nil, failure
	}
	sealer, output := &t.settings.Sealer, []json.RawMessage{}
	for _, item := range slices.Concat(t.past, t.input) {
		if items.IsOfUser(&item) {
			output = append(output, sealer.ForClient(&item, t.bound, nil))
		}
	}
	output = append(output, t.compactionOf(summary, list))
	return items.JSON(struct {
		ID        string            `json:"id"`
		Object    string            `json:"object"`
		CreatedAt int64             `json:"created_at"`
		Output    []json.RawMessage `json:"output"`
		Usage     json.RawMessage   `json:"usage"`
	}{t.ID, "response.compaction", t.created.Unix(), output, usage}), nil
}
