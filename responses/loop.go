package responses

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// round is one answer of the model within a response.
type round struct {
	// indexes are the client's output_index for each of the gateway's. Those of calls of the service's tools are hiddenIndex.
	indexes map[int]int
	calls   []*toolCall
	// waits reports whether the client has to act before the model can be asked again: a call of its own, or a question
	// for approval.
	waits bool
	// last reports whether the answer must not call tools.
	last bool
}

const hiddenIndex = -1

// numbers reports whether the service numbers the events itself, because some are of its own making.
func (t *turn) numbers() bool { return t.hosted != nil || t.compaction != nil }

// renumber changes the numbers of an event. An event of a hidden item has no kind afterwards.
func (t *turn) renumber(e *event) error {
	if !t.numbers() {
		return nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.data, &body); err != nil {
		return err
	}
	hidden, err := t.number(body)
	if err != nil {
		return err
	}
	if hidden {
		e.kind = ""
		return nil
	}
	e.data = mustMarshal(body)
	return nil
}

// passNumbered renumbers an event of the service's own, and gives it to the client.
func (t *turn) passNumbered(e *event, emit func(*event) error) error {
	if err := t.renumber(e); err != nil || e.kind == "" {
		return err
	}
	return t.pass(e, emit)
}

// number changes the numbers of an event, and reports whether its item is hidden.
func (t *turn) number(body map[string]json.RawMessage) (hidden bool, err error) {
	if raw, has := body["output_index"]; has {
		index := 0
		if err := json.Unmarshal(raw, &index); err != nil {
			return false, err
		}
		to, known := t.round.indexes[index]
		if !known || to == hiddenIndex {
			return true, nil
		}
		body["output_index"] = mustMarshal(to)
	}
	body["sequence_number"] = mustMarshal(t.sequence)
	return false, nil
}

// takeNumbered numbers the event of an item that begins or has ended. It reports whether the item is a call of the
// service's tools, which it keeps.
func (t *turn) takeNumbered(body map[string]json.RawMessage, added bool) (taken bool, err error) {
	index := 0
	if err := json.Unmarshal(body["output_index"], &index); err != nil {
		return false, err
	}
	call := t.hosted.callOf(body["item"])
	if added {
		t.round.indexes[index] = hiddenIndex
		if call == nil {
			t.round.indexes[index] = t.index
			t.index++
		}
	}
	if call != nil {
		if !added {
			t.round.calls = append(t.round.calls, call)
		}
		return true, nil
	}
	if !added && strings.HasSuffix(itemOf(body["item"]).Type, "_call") {
		t.round.waits = true
	}
	_, err = t.number(body)
	return false, err
}

// roundFields returns the fields of a request for the next round.
func (t *turn) roundFields(fields map[string]json.RawMessage) map[string]json.RawMessage {
	fields = maps.Clone(fields)
	set := func(name string, value json.RawMessage) {
		if value == nil {
			delete(fields, name)
		} else {
			fields[name] = value
		}
	}
	tools := t.hosted.plain()
	set("tools", mustMarshal(tools))
	choice, _ := t.hosted.forGateway(t.rounds, t.round.last) // list has reported what is wrong
	if len(tools) == 0 {
		choice = nil
	}
	set("tool_choice", choice)
	if left, limited := t.tokensLeft(); limited && t.rounds > 0 {
		set("max_output_tokens", mustMarshal(left))
	}
	return fields
}

// lastRound reports whether the next answer must not call tools, because a limit of the request or the operator is
// reached.
func (t *turn) lastRound() bool {
	late := !t.deadline.IsZero() && !time.Now().Before(t.deadline)
	return t.hosted != nil && (late || t.rounds+1 >= t.service.Tools.Rounds || t.callsLeft() <= 0)
}

// callsLeft returns how many calls may still run.
func (t *turn) callsLeft() int64 {
	if t.hosted.maxCalls < 0 {
		return maxCallsOfRound
	}
	return t.hosted.maxCalls - t.calls
}

// maxCallsOfRound is how many calls of one answer are run.
const maxCallsOfRound = 128

// minTokens is the least that the gateway accepts as max_output_tokens.
const minTokens = 16

// tokensLeft returns how many tokens the model may still write, if the request limits them.
func (t *turn) tokensLeft() (left int64, limited bool) {
	var most *int64
	if json.Unmarshal(orNull(t.request.fields["max_output_tokens"]), &most) != nil || most == nil {
		return 0, false
	}
	return *most - t.usage.Output, true
}

// runCalls runs the calls of a round, and reports whether the model is to be asked again.
func (t *turn) runCalls(ctx context.Context, end *ending, emit func(*event) error) (again bool, err error) {
	if t.hosted == nil {
		return false, nil
	}
	before := t.usage
	t.usage.add(end.object["usage"])
	if t.deadline.IsZero() {
		t.deadline = time.Now().Add(t.service.Tools.Time)
	}
	t.rounds++
	calls := t.round.calls
	t.service.Log.Info("a round of a response with tools has ended", "response", t.id, "round", t.rounds, "calls", len(calls),
		"input_tokens", t.usage.Input-before.Input, "output_tokens", t.usage.Output-before.Output)
	if end.kind != "response.completed" {
		return false, t.showCut(ctx, calls, emit)
	}
	if t.round.last {
		return false, nil
	}
	// As the API says, calls beyond a limit are ignored.
	calls = calls[:min(int64(len(calls)), t.callsLeft(), maxCallsOfRound)]
	if len(calls) == 0 {
		return false, nil
	}
	run := calls[:0:0]
	for _, c := range calls {
		if c.needsApproval() {
			t.round.waits = true
			if err := t.showItem(c.approvalRequest(), emit); err != nil {
				return false, err
			}
			continue
		}
		run = append(run, c)
	}
	if err := t.perform(ctx, run, emit); err != nil {
		return false, err
	}
	if t.round.waits {
		return false, nil
	}
	if left, limited := t.tokensLeft(); limited && left < minTokens {
		end.kind = "response.incomplete"
		end.object["status"] = mustMarshal(statusIncomplete)
		end.object["incomplete_details"] = mustMarshal(map[string]string{"reason": openai.ReasonMaxOutputTokens})
		end.object["completed_at"] = json.RawMessage("null")
		return false, nil
	}
	return true, nil
}

// ownTools writes the request's tools into an object of the gateway's, and what a round of its own has changed.
func (t *turn) ownTools(o object) {
	if t.hosted == nil {
		return
	}
	var plain []json.RawMessage
	if json.Unmarshal(orNull(o["tools"]), &plain) == nil && !t.echoed {
		t.echo, t.echoed = mustMarshal(t.hosted.echo(plain)), true
	}
	if t.echoed {
		o["tools"] = t.echo
	}
	if t.hosted.choice.raw != nil {
		o["tool_choice"] = t.hosted.choice.raw
	} else {
		o["tool_choice"] = mustMarshal("auto")
	}
	o["max_output_tokens"] = orNull(t.request.fields["max_output_tokens"])
}

// usage sums the tokens of the rounds.
type usage struct {
	Input, Cached, CacheWrites, Output, Reasoning, ToolOutput int64
	// before is the input and the output of the newest round.
	before int64
	known  bool
}

// add adds the usage of a round. The tokens that its prompt has more than the last one's and that the model has not
// written are those of tools.
func (u *usage) add(raw json.RawMessage) {
	var one struct {
		Input        int64 `json:"input_tokens"`
		Output       int64 `json:"output_tokens"`
		InputDetails struct {
			Cached int64 `json:"cached_tokens"`
			Writes int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if raw == nil || isNull(raw) || json.Unmarshal(raw, &one) != nil {
		return
	}
	if u.known {
		u.ToolOutput += max(0, one.Input-u.before)
	}
	u.before, u.known = one.Input+one.Output, true
	u.Input += one.Input
	u.Output += one.Output
	u.Cached += one.InputDetails.Cached
	u.CacheWrites += one.InputDetails.Writes
	u.Reasoning += one.OutputDetails.Reasoning
}

// total writes the usage of all rounds into the object of the response.
func (t *turn) total(o object) {
	u := &t.usage
	if !u.known {
		return
	}
	o["usage"] = mustMarshal(map[string]any{
		"input_tokens":         u.Input,
		"input_tokens_details": map[string]int64{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrites},
		"output_tokens":        u.Output,
		"output_tokens_details": map[string]int64{"reasoning_tokens": u.Reasoning,
			"tool_output_tokens": u.ToolOutput},
		"total_tokens": u.Input + u.Output,
	})
}
