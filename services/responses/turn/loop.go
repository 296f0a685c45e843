package turn

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// loop is the state of a turn with tools that the service runs.
type loop struct {
	// hosted are those tools, or nil. approvals are the answers to questions for approval.
	hosted    *hosted.Tools
	approvals []input.Approval
	// round is the newest answer of the model, rounds how many there have been, and calls how many calls were run.
	// searched is how many of the answers had no call but searches for tools.
	round            round
	rounds, searched int
	calls            int64
	finder           finder
	usage            usage
	// deadline is when no call may run any more, once the first one has begun.
	deadline time.Time
	// echo is the tools of the response, once echoed.
	echo   json.RawMessage
	echoed bool
}

// round is one answer of the model within a response.
type round struct {
	calls []*hosted.Call
	// waits reports whether the client has to act before the model can be asked again: a call of its own, or a question
	// for approval.
	waits bool
	// last reports whether the answer must not call tools.
	last bool
}

// roundFields returns the fields of a request for the next round.
func (l *loop) roundFields(given map[string]json.RawMessage) map[string]json.RawMessage {
	fields := maps.Clone(given)
	set := func(name string, value json.RawMessage) {
		if value == nil {
			delete(fields, name)
		} else {
			fields[name] = value
		}
	}
	tools := l.hosted.Plain()
	set("tools", items.JSON(tools))
	choice, _ := l.hosted.ForGateway(l.rounds-l.searched, l.round.last) // list has reported what is wrong
	if len(tools) == 0 {
		choice = nil
	}
	set("tool_choice", choice)
	if left, limited := l.tokensLeft(given); limited && l.rounds > 0 {
		set("max_output_tokens", items.JSON(left))
	}
	return fields
}

// lastRound reports whether the next answer must not call tools, because a limit of the request or the operator is
// reached. most is how often the model may be asked.
func (l *loop) lastRound(most int) bool {
	late := !l.deadline.IsZero() && !time.Now().Before(l.deadline)
	return l.hosted != nil && (late || l.rounds+1 >= most || l.callsLeft() <= 0)
}

// callsLeft returns how many calls may still run.
func (l *loop) callsLeft() int64 {
	if l.hosted.MaxCalls < 0 {
		return maxCallsOfRound
	}
	return l.hosted.MaxCalls - l.calls
}

// maxCallsOfRound is how many calls of one answer are run.
const maxCallsOfRound = 128

// tokensLeft returns how many tokens the model may still write, if the request limits them.
func (l *loop) tokensLeft(fields map[string]json.RawMessage) (left int64, limited bool) {
	var most *int64
	if json.Unmarshal(items.OrNull(fields["max_output_tokens"]), &most) != nil || most == nil {
		return 0, false
	}
	return *most - l.usage.Output, true
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
	if !slices.ContainsFunc(calls, func(c *hosted.Call) bool { return !c.Search }) {
		t.searched++
	}
	run := calls[:0:0]
	for _, c := range calls {
		t.hosted.CountSearch(c)
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
	if left, limited := t.tokensLeft(t.Request.Fields); limited && left < upstream.MinTokens {
		end.kind = "response.incomplete"
		end.object["status"] = items.JSON(items.Incomplete)
		end.object["incomplete_details"] = items.JSON(map[string]string{"reason": openai.ReasonMaxOutputTokens})
		end.object["completed_at"] = json.RawMessage("null")
		return false, nil
	}
	return true, nil
}

// ownTools writes the request's tools into an object of the gateway's, and what a round of its own has changed.
func (l *loop) ownTools(o upstream.Object, fields map[string]json.RawMessage) {
	if l.hosted == nil {
		return
	}
	var plain []json.RawMessage
	if json.Unmarshal(items.OrNull(o["tools"]), &plain) == nil && !l.echoed {
		l.echo, l.echoed = items.JSON(l.hosted.Echo(plain)), true
	}
	if l.echoed {
		o["tools"] = l.echo
	}
	if l.hosted.Choice.Raw != nil {
		o["tool_choice"] = l.hosted.Choice.Raw
	} else {
		o["tool_choice"] = items.JSON("auto")
	}
	o["max_output_tokens"] = items.OrNull(fields["max_output_tokens"])
}
