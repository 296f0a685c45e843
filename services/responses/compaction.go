package responses

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// summaryRequest returns the last message of a request for a summary.
func summaryRequest() json.RawMessage {
	return userMessage("The conversation so far is about to be removed, and only your next answer will be kept in its " +
		"place. Write down what is needed to go on without it: what the user wants and has asked for, decisions and the " +
		"reasons for them, what was done and found (names, paths, figures, errors, as they were), and what is still to be " +
		"done. Call no tools, and answer nothing else.")
}

// summaryIntroduction is before a summary in the prompt.
const summaryIntroduction = "Summary of the conversation so far, which was removed to save space:\n\n"

func userMessage(text string) json.RawMessage {
	return mustMarshal(map[string]string{"type": typeMessage, "role": "user", "content": text})
}

// summaryFields returns the fields of a request for a summary: those of the client's that do not shape its answer.
func summaryFields(fields map[string]json.RawMessage) map[string]json.RawMessage {
	kept := maps.Clone(fields)
	for _, name := range []string{"tools", "tool_choice", "parallel_tool_calls", "max_tool_calls", "text",
		"max_output_tokens", "include", "top_logprobs", "context_management"} {
		delete(kept, name)
	}
	kept["truncation"] = mustMarshal("auto")
	return kept
}

// errNoSummary means that the model has answered a request for a summary with something else.
var errNoSummary = errors.New("the model has written no summary")

// summarize asks the model for a summary of items.
func (t *turn) summarize(ctx context.Context, items []json.RawMessage) (text string, usage json.RawMessage,
	failure *openai.Error) {
	body := plain(summaryFields(t.request.fields), append(items[:len(items):len(items)], summaryRequest()), false)
	var answer struct {
		Status string            `json:"status"`
		Output []json.RawMessage `json:"output"`
		Usage  json.RawMessage   `json:"usage"`
	}
	if failure := t.postFor(ctx, contract.ResponsesPath, body, &answer); failure != nil {
		return "", nil, failure
	}
	text, err := finalText(answer.Output)
	if answer.Status != statusCompleted {
		err = errNoSummary
	}
	if err != nil {
		return "", nil, &openai.Error{Status: http.StatusBadGateway, Type: contract.ServerErrorType,
			Code: contract.CodeServerError, Message: "The conversation could not be compacted: " + err.Error() + ". Try again."}
	}
	return text, answer.Usage, nil
}

// postFor sends a plain request to the gateway and reads its answer.
func (t *turn) postFor(ctx context.Context, path string, body []byte, into any) *openai.Error {
	answer, failure := t.post(ctx, path, body)
	if failure != nil {
		return failure
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(io.LimitReader(answer.Body, maxEventSize))
	if err == nil {
		err = json.Unmarshal(read, into)
	}
	if err != nil {
		return t.service.unreachable(err)
	}
	return nil
}

// finalText returns the text of an answer.
func finalText(output []json.RawMessage) (string, error) {
	var b strings.Builder
	for _, raw := range output {
		var item struct {
			Content []struct{ Text string }
		}
		if isAnswer(raw) && json.Unmarshal(raw, &item) == nil {
			for i := range item.Content {
				b.WriteString(item.Content[i].Text)
			}
		}
	}
	if strings.TrimSpace(b.String()) == "" {
		return "", errNoSummary
	}
	return b.String(), nil
}

// compact replaces what the model is asked with by a summary and the newest items, if the request allows that and is
// long enough.
func (t *turn) compact(ctx context.Context) *openai.Error {
	threshold := t.request.compactThreshold()
	if threshold == 0 || t.triggered {
		return nil
	}
	items := t.items()
	end := tail(items)
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
	summary, _, failure := t.summarize(ctx, items[:end])
	if failure != nil {
		return failure
	}
	payload := string(mustMarshal(content{summary, items[end:]}))
	t.compaction, t.shortened = t.settings.sealer.newCompaction(payload, t.bound), expand(payload)
	return nil
}

// compactThreshold returns how many tokens a request may have before it is compacted, or 0 for any number. The gateway
// reports a value that is wrong.
func (r *request) compactThreshold() int64 {
	var entries []struct {
		Type      string `json:"type"`
		Threshold int64  `json:"compact_threshold"`
	}
	_ = json.Unmarshal(orNull(r.fields["context_management"]), &entries)
	for i := range entries {
		if entries[i].Type == typeCompaction {
			return entries[i].Threshold
		}
	}
	return 0
}

// tail returns where the newest items begin, which a compaction keeps: the user's last messages, or the last outputs of
// tools with their calls.
func tail(items []json.RawMessage) int {
	kind := func(i int) (kind, role string) {
		var item struct{ Type, Role string }
		if i >= 0 {
			_ = json.Unmarshal(items[i], &item)
		}
		return item.Type, item.Role
	}
	at := len(items)
	back := func(belongs func(kind, role string) bool) {
		for at > 0 && belongs(kind(at-1)) {
			at--
		}
	}
	back(func(_, role string) bool { return role == "user" })
	if at < len(items) {
		return at
	}
	back(func(kind, _ string) bool { return strings.HasSuffix(kind, "_output") })
	if at < len(items) {
		back(func(kind, _ string) bool { return strings.HasSuffix(kind, "_call") || kind == typeReasoning })
	}
	return at
}

// takeTrigger returns the items of the input without the one that asks for a compaction.
func (t *turn) takeTrigger() []json.RawMessage {
	list := t.request.input
	if len(list) == 0 {
		return list
	}
	var last struct{ Type string }
	if json.Unmarshal(list[len(list)-1], &last) != nil || last.Type != typeTrigger {
		return list
	}
	t.triggered = true
	return list[:len(list)-1]
}

// takeSummary reads an event of the answer to a request for a summary. It makes the compaction of the last one. An
// event that the client does not get has no kind afterwards.
func (t *turn) takeSummary(e *event, emit func(*event) error) error {
	switch e.kind {
	case "response.created", "response.in_progress", "response.failed":
		return nil
	case "response.output_item.done":
		var body struct{ Item json.RawMessage }
		if err := json.Unmarshal(e.data, &body); err != nil {
			return err
		}
		t.summary = append(t.summary, body.Item)
	case "response.completed":
		text, err := finalText(t.summary)
		if err != nil {
			return err
		}
		t.compaction = t.settings.sealer.newCompaction(string(mustMarshal(content{Summary: text})), t.bound)
		return t.showItem(t.compaction, emit)
	case "response.incomplete":
		return errNoSummary
	}
	e.kind = ""
	return nil
}

// compacted reports whether the output of a turn stands for everything before it.
func (t *turn) compacted(end *outcome) bool {
	return len(end.output) > 0 && end.output[0].Type == typeCompaction
}

// createCompaction answers with the user's messages and an item that stands for everything else.
func (s *Service) createCompaction(w http.ResponseWriter, r *http.Request, c *caller) *openai.Error {
	t, _, unlock, failure := s.begin(w, r, c)
	if failure != nil {
		return failure
	}
	defer unlock()
	if len(t.past)+len(t.input) == 0 {
		return badRequest(contract.CodeMissingParameter, "input", "Missing required parameter: 'input', or "+
			"'previous_response_id'.")
	}
	summary, usage, failure := t.summarize(r.Context(), t.items())
	if failure != nil {
		return failure
	}
	output := []json.RawMessage{}
	for _, item := range slices.Concat(t.past, t.input) {
		if isOfUser(&item) {
			output = append(output, t.settings.sealer.forClient(&item, t.bound, nil))
		}
	}
	output = append(output, t.settings.sealer.newCompaction(string(mustMarshal(content{Summary: summary})), t.bound))
	return writeJSON(w, mustMarshal(struct {
		ID        string            `json:"id"`
		Object    string            `json:"object"`
		CreatedAt int64             `json:"created_at"`
		Output    []json.RawMessage `json:"output"`
		Usage     json.RawMessage   `json:"usage"`
	}{t.id, "response.compaction", t.created.Unix(), output, usage}))
}

func isOfUser(item *store.Item) bool {
	var message struct{ Role string }
	return item.Type == typeMessage && json.Unmarshal(item.Body, &message) == nil && message.Role == "user"
}
