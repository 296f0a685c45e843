package turn

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// loop is the state of a turn with tools that the service runs.
type loop struct {
	// hosted are those tools, or nil. approvals are the answers to questions for approval.
	hosted    *hosted.Tools
	approvals []approval
	// round is the newest answer of the model, rounds how many there have been, and calls how many calls were run.
	round  round
	rounds int
	calls  int64
	usage  usage
	// deadline is when no call may run any more, once the first one has begun.
	deadline time.Time
	// echo is the tools of the response, once echoed.
	echo   json.RawMessage
	echoed bool
}

// round is one answer of the model within a response.
type round struct {
	// indexes are the client's output_index for each of the gateway's. The indexes of calls of the service's tools are
	// hiddenIndex.
	indexes map[int]int
	calls   []*hosted.Call
	// waits reports whether the client has to act before the model can be asked again: a call of its own, or a question
	// for approval.
	waits bool
	// last reports whether the answer must not call tools.
	last bool
}

// roundFields returns the fields of a request for the next round.
func (t *Turn) roundFields(fields map[string]json.RawMessage) map[string]json.RawMessage {
	fields = maps.Clone(fields)
	set := func(name string, value json.RawMessage) {
		if value == nil {
			delete(fields, name)
		} else {
			fields[name] = value
		}
	}
	tools := t.hosted.Plain()
	set("tools", items.JSON(tools))
	choice, _ := t.hosted.ForGateway(t.rounds, t.round.last) // list has reported what is wrong
	if len(tools) == 0 {
		choice = nil
	}
	set("tool_choice", choice)
	if left, limited := t.tokensLeft(); limited && t.rounds > 0 {
		set("max_output_tokens", items.JSON(left))
	}
	return fields
}

// lastRound reports whether the next answer must not call tools, because a limit of the request or the operator is
// reached.
func (t *Turn) lastRound() bool {
	late := !t.deadline.IsZero() && !time.Now().Before(t.deadline)
	return t.hosted != nil && (late || t.rounds+1 >= t.settings.Tools.Rounds || t.callsLeft() <= 0)
}

// callsLeft returns how many calls may still run.
func (t *Turn) callsLeft() int64 {
	if t.hosted.MaxCalls < 0 {
		return maxCallsOfRound
	}
	return t.hosted.MaxCalls - t.calls
}

// maxCallsOfRound is how many calls of one answer are run.
const maxCallsOfRound = 128

// minTokens is the least that the gateway accepts as max_output_tokens.
const minTokens = 16

// tokensLeft returns how many tokens the model may still write, if the request limits them.
func (t *Turn) tokensLeft() (left int64, limited bool) {
	var most *int64
	if json.Unmarshal(items.OrNull(t.Request.fields["max_output_tokens"]), &most) != nil || most == nil {
		return 0, false
	}
	return *most - t.usage.Output, true
}

// runCalls runs the calls of a round, and reports whether the model is to be asked again.
func (t *Turn) runCalls(ctx context.Context, end *ending, emit func(*upstream.Event) error) (again bool, err error) {
	if t.hosted == nil {
		return false, nil
	}
	before := t.usage
	t.usage.add(end.object["usage"])
	if t.deadline.IsZero() {
		t.deadline = time.Now().Add(t.settings.Tools.Time)
	}
	t.rounds++
	calls := t.round.calls
	t.env.Log.Info("a round of a response with tools has ended", "response", t.ID, "round", t.rounds, "calls",
		len(calls),
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
		if c.NeedsApproval() {
			t.round.waits = true
			if err := t.showItem(c.ApprovalRequest(), emit); err != nil {
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
		end.object["status"] = items.JSON(items.Incomplete)
		end.object["incomplete_details"] = items.JSON(map[string]string{"reason": openai.ReasonMaxOutputTokens})
		end.object["completed_at"] = json.RawMessage("null")
		return false, nil
	}
	return true, nil
}

// ownTools writes the request's tools into an object of the gateway's, and what a round of its own has changed.
func (t *Turn) ownTools(o upstream.Object) {
	if t.hosted == nil {
		return
	}
	var plain []json.RawMessage
	if json.Unmarshal(items.OrNull(o["tools"]), &plain) == nil && !t.echoed {
		t.echo, t.echoed = items.JSON(t.hosted.Echo(plain)), true
	}
	if t.echoed {
		o["tools"] = t.echo
	}
	if t.hosted.Choice.Raw != nil {
		o["tool_choice"] = t.hosted.Choice.Raw
	} else {
		o["tool_choice"] = items.JSON("auto")
	}
	o["max_output_tokens"] = items.OrNull(t.Request.fields["max_output_tokens"])
}
