package inspect

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// differs says what differs first, and what to do, by the reason's name.
var differs = map[string]struct{ what, advice string }{
	"system":            {"the system message differs", "The model's identity or its channels are set by the operator."},
	"date":              {"the date differs", "A fixed day keeps prompts the same after midnight."},
	"effort":            {"the reasoning effort differs", "Keep one effort in a conversation."},
	"tools":             {"the tools differ", "Send the same tools in the same order in each turn."},
	"instructions":      {"the instructions differ", "Put what changes, such as the time, into the last message."},
	"format":            {"the format of the answer differs", "Send the same format in each turn."},
	"user":              {"a message of the user differs", "Append to a conversation, and leave its past as it was."},
	"reasoning":         {"reasoning of the past differs", "Send reasoning back as it came."},
	"answer":            {"an answer of the past differs", "Send answers back as they came."},
	"preamble":          {"a message of the past differs", "Send messages back as they came."},
	"call":              {"a call of the past differs", "Send the arguments of calls back as they came, to the byte."},
	"result":            {"a result of the past differs", "Shorten results before they are first sent."},
	"rest":              {"what is not in messages differs", ""},
	"reasoning_dropped": {"reasoning of the past is gone", "Send reasoning back. Behind a final answer it is left out."},
	"messages_removed":  {"messages of the past are gone", "Shorten a conversation seldom, and by much."},
	"messages_inserted": {"messages are new before known ones", "Append new messages at the end."},
	"model":             {"the models differ", "A cache is of one model."},
}

// Write prints the comparison for people. It has no text of the prompts unless show is set: then there is a short
// piece of both where they differ.
func (d *Diff) Write(out io.Writer, show bool) error {
	w := bufio.NewWriter(out)
	for _, p := range []struct {
		letter string
		*diffPrompt
	}{{"A", &d.before}, {"B", &d.now}} {
		fmt.Fprintf(w, "%s  %s  %s", p.letter, safe(p.name), tokens(p.prompt))
		if n := len(p.ids) - p.prompt; n > 0 && p.letter == "A" {
			fmt.Fprintf(w, ", and %d generated", n)
		}
		if p.model != "" {
			fmt.Fprintf(w, "  %s", safe(p.model))
		}
		fmt.Fprintln(w)
	}
	reason := d.Reason.String()
	switch about := differs[reason]; {
	case d.Reason == segments.Nothing && d.Common == d.segments.Tokens:
		fmt.Fprintln(w, "no difference: A begins with all of B")
	case d.Reason == segments.Nothing:
		fmt.Fprintln(w, "no difference in what A has: B goes on after it")
	case d.Reason == segments.Model:
		fmt.Fprintf(w, "model: %s\n", about.what)
	default:
		fmt.Fprintf(w, "%s: %s, from %s on, after %s in common\n", reason, about.what, d.place(), tokens(d.Common))
	}
	if show && d.Reason != segments.Nothing {
		d.show(w)
	}
	d.cost(w)
	if advice := differs[reason].advice; advice != "" {
		fmt.Fprintf(w, "  %s\n", advice)
	}
	return w.Flush()
}

func tokens(n int) string {
	if n == 1 {
		return "1 token"
	}
	return strconv.Itoa(n) + " tokens"
}

// place names the messages of the difference. They are counted from 1, as harmony inspect explain does.
func (d *Diff) place() string {
	if d.Message == d.Was {
		return "#" + strconv.Itoa(d.Message+1)
	}
	return fmt.Sprintf("#%d of A and #%d of B", d.Was+1, d.Message+1)
}

func (d *Diff) cost(w io.Writer) {
	blocks := ""
	if d.block > 1 {
		blocks = fmt.Sprintf(" (%d blocks of %d)", d.Cached/d.block, d.block)
	}
	fmt.Fprintf(w, "  a server that has A reads %s of B from its cache%s, and computes %d\n", tokens(d.Cached), blocks,
		d.Computed)
	fmt.Fprintf(w, "  of these, %d were in A, and are computed again; %d are new\n", d.Again, d.Computed-d.Again)
}

// How many tokens are shown before and after the first difference.
const (
	shownBefore = 8
	shownAfter  = 16
)

func (d *Diff) show(w io.Writer) {
	for _, p := range []struct {
		letter string
		ids    []uint32
	}{{"A", d.before.ids}, {"B", d.now.ids[:d.now.prompt]}} {
		from, to := max(d.Common-shownBefore, 0), min(d.Common+shownAfter, len(p.ids))
		at := min(d.Common, to)
		fmt.Fprintf(w, "  %s | %s >> %s\n", p.letter, d.text(p.ids[from:at]), d.text(p.ids[at:to]))
	}
}

// text returns the text of ids in a form that is safe to print.
func (d *Diff) text(ids []uint32) string {
	var b strings.Builder
	plain := 0
	for i, id := range ids {
		if name, ok := tokenizer.SpecialName(id); ok {
			b.WriteString(safe(d.t.DecodeString(ids[plain:i])) + name)
			plain = i + 1
		}
	}
	b.WriteString(safe(d.t.DecodeString(ids[plain:])))
	return b.String()
}

func safe(text string) string {
	var e explain.Escaper
	return e.Escape(text)
}

// AppendJSON appends the comparison as a JSON object, without any text of the prompts.
func (d *Diff) AppendJSON(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `{"reason":`...), d.Reason.String())
	if d.Reason != segments.Nothing && d.Reason != segments.Model {
		dst = rawjson.AppendInt(append(dst, `,"message":{"a":`...), int64(d.Was+1))
		dst = append(rawjson.AppendInt(append(dst, `,"b":`...), int64(d.Message+1)), '}')
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"a_tokens", d.before.prompt}, {"a_generated", len(d.before.ids) - d.before.prompt}, {"b_tokens", d.now.prompt},
		{"common", d.Common}, {"block", d.block}, {"cached", d.Cached}, {"computed", d.Computed}, {"again", d.Again},
		{"new", d.Computed - d.Again}} {
		dst = rawjson.AppendInt(append(append(append(dst, `,"`...), n.name...), `":`...), int64(n.n))
	}
	return append(dst, '}')
}
