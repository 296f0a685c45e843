package segments_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// noLimits is more than any prompt of these tests has.
var noLimits = segments.Limits{Segments: 1 << 20, Blocks: 1 << 20}

// turn is a request to Responses.
type turn struct {
	model, date, effort, instructions, tools, format string
	input                                            []string
}

func user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

func answer(text string) string {
	return fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, text)
}

func reasoning(text string) string {
	return fmt.Sprintf(`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":%q}]}`, text)
}

func call(id, arguments string) string {
	return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"look","arguments":%q}`, id, arguments)
}

func result(id, text string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, text)
}

const (
	look = `{"type":"function","name":"look","description":"Looks at a file.\n\n# Tools\n\n## none",` +
		`"parameters":{"type":"object","properties":{"path":{"type":"string"}}}}`
	write = `{"type":"function","name":"write","parameters":{"type":"object","properties":{"text":{"type":"string"}}}}`
	// guide has the headings that the renderer writes, too.
	guide = "You help with files.\n\n# Tools\n\n## Shell\n\nUse it.\n\n# Response Formats\n\nBe brief.\nReasoning: yes."
)

// agent is a turn of an agent.
func agent() turn {
	return turn{model: "gpt-oss-120b", date: "2026-11-29", effort: "medium", instructions: guide,
		tools: look + "," + write, input: []string{user("What is in a.txt, and in b.txt? " + strings.Repeat("Look well. ", 30)),
			reasoning("I look at a.txt first."), call("c1", `{"path":"a.txt"}`), result("c1", "one two three"),
			reasoning("Now at b.txt."), call("c2", `{"path":"b.txt"}`), result("c2", strings.Repeat("four five ", 40))}}
}

func (r *turn) ids(t *testing.T) []uint32 {
	t.Helper()
	m := completion.GPTOSS(r.model)
	m.Date, m.StructuralTags = r.date, true
	body := fmt.Sprintf(`{"model":%q,"reasoning":{"effort":%q},"instructions":%q,"tools":[%s],"input":[%s]`, r.model,
		r.effort, r.instructions, r.tools, strings.Join(r.input, ","))
	if r.format != "" {
		body += `,"text":{"format":{"type":"json_schema","name":"shape","schema":` + r.format + `}}`
	}
	ids, err := completion.New(completion.Options{Tokenizer: o200k.Tokenizer(), Model: m}).ResponsesPrompt(
		[]byte(body + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func outline(model string, ids []uint32, limits segments.Limits) *segments.Outline {
	o := &segments.Outline{}
	o.Read(o200k.Tokenizer(), model, ids, limits)
	return o
}

func describe(o *segments.Outline) string {
	var b strings.Builder
	for _, s := range o.Segments {
		fmt.Fprintf(&b, "%d %s, ", s.Message, s.Kind)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func TestSegments(t *testing.T) {
	a := agent()
	a.format = `{"type":"object"}`
	o := outline(a.model, a.ids(t), noLimits)
	want := "0 system, 0 date, 0 effort, 0 system, 0 tools, 1 instructions, 1 tools, 1 format, 2 user, " +
		"3 reasoning, 4 call, 5 result, 6 reasoning, 7 call, 8 result, 9 opening"
	if got := describe(o); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	plain := turn{model: "m", date: "2026-11-29", effort: "low"}
	plain.input = []string{user("Hi"), answer("Hello"), user("Who?")}
	if got := describe(outline("m", plain.ids(t), noLimits)); got !=
		"0 system, 0 date, 0 effort, 0 system, 1 user, 2 answer, 3 user, 4 opening" {
		t.Error(got)
	}
	sum := 0
	for _, s := range o.Segments {
		sum += int(s.Size)
	}
	if sum != o.Tokens || len(o.Blocks) != o.Tokens/segments.BlockSize {
		t.Errorf("%d tokens in segments, %d blocks, of %d tokens", sum, len(o.Blocks), o.Tokens)
	}
}

// changes are ways in which the next turn of an agent differs, and the reason that each has.
var changes = []struct {
	reason  string
	message int
	change  func(now *turn)
}{
	{"none", 9, func(*turn) {}},
	{"model", 9, func(r *turn) { r.model = "gpt-oss-20b" }},
	{"date", 0, func(r *turn) { r.date = "2026-11-30" }},
	{"effort", 0, func(r *turn) { r.effort = "high" }},
	{"date", 0, func(r *turn) { r.date, r.effort = "2026-11-30", "high" }},
	{"tools", 0, func(r *turn) { r.tools = "" }},
	{"tools", 1, func(r *turn) { r.tools = write + "," + look }},
	{"tools", 1, func(r *turn) { r.tools = look }},
	{"tools", 1, func(r *turn) { r.tools = look + "," + strings.ReplaceAll(write, "text", "words") }},
	{"instructions", 1, func(r *turn) { r.instructions = "The time is 10:01. " + guide }},
	{"instructions", 1, func(r *turn) { r.instructions = guide + " It is late." }},
	{"instructions", 1, func(r *turn) { r.instructions = "" }},
	{"format", 1, func(r *turn) { r.format = `{"type":"object"}` }},
	{"user", 2, func(r *turn) { r.input[0] = user("What is in a.txt?") }},
	{"user", 2, func(r *turn) { r.input[0], r.input[3] = user("What is in a.txt?"), result("c1", "None.") }},
	{"reasoning", 3, func(r *turn) { r.input[1] = reasoning("I look at it.") }},
	{"reasoning_dropped", 3, func(r *turn) { r.input = append(r.input[:1:1], r.input[2:]...) }},
	{"reasoning_dropped", 3, func(r *turn) {
		r.input = append(append(r.input[:1:1], r.input[2:4]...), r.input[5:]...)
	}},
	// A final answer behind the calls: what the model thought before it is left out.
	{"reasoning_dropped", 3, func(r *turn) { r.input = append(r.input[:9:9], answer("Words."), user("Thanks.")) }},
	{"call", 4, func(r *turn) { r.input[2] = call("c1", `{ "path": "a.txt" }`) }},
	{"result", 5, func(r *turn) { r.input[3] = result("c1", "[cleared]") }},
	{"messages_removed", 3, func(r *turn) { r.input = append(r.input[:1:1], r.input[4:]...) }},
	{"messages_removed", 2, func(r *turn) { r.input = []string{user("Go on with b.txt.")} }},
	{"messages_inserted", 6, func(r *turn) {
		r.input = append(append(r.input[:4:4], user("By the way, be quick.")), r.input[4:]...)
	}},
}

// TestChanges makes each change of the next turn, and looks at what is named, and at the numbers.
func TestChanges(t *testing.T) {
	first := agent()
	before := first.ids(t)
	for i, tt := range changes {
		next := agent()
		next.input = append(next.input, call("c3", `{"path":"c.txt"}`), result("c3", "It does not exist."))
		tt.change(&next)
		now := next.ids(t)
		was, is := outline(first.model, before, noLimits), outline(next.model, now, noLimits)
		common := segments.Common(before, now)
		d := segments.Compare(was, is, common, segments.Cache{Block: 16})
		if d.Reason.String() != tt.reason {
			t.Errorf("change %d: %s, not %s\n%s\n%s", i, d.Reason, tt.reason, describe(was), describe(is))
			continue
		}
		cached := min(common, len(now)-1) / 16 * 16
		if d.Reason == segments.Model {
			cached = 0
		} else if d.Message != tt.message {
			t.Errorf("change %d: message %d, not %d", i, d.Message, tt.message)
		}
		if d.Common != common || d.Cached != cached || d.Computed != len(now)-cached || d.Again < 0 ||
			d.Again > d.Computed {
			t.Errorf("change %d: %+v", i, d)
		}
		// What is kept of a prompt has the same difference, to the block.
		kept := was.CommonWith(is, now)
		if kept > common || kept/16 != common/16 {
			t.Errorf("change %d: %d tokens in common by hashes, %d by ids", i, kept, common)
		}
		k := segments.Compare(was, is, kept, segments.Cache{Block: 16})
		if k.Reason != d.Reason || k.Cached != d.Cached || k.Computed != d.Computed || k.Message != d.Message ||
			k.Was != d.Was {
			t.Errorf("change %d: by hashes %+v, by ids %+v", i, k, d)
		}
	}
}

// TestAgain counts tokens that are computed again.
func TestAgain(t *testing.T) {
	first := agent()
	before := first.ids(t)
	compare := func(change func(*turn)) segments.Difference {
		next := agent()
		change(&next)
		now := next.ids(t)
		return segments.Compare(outline("m", before, noLimits), outline("m", now, noLimits), segments.Common(before, now),
			segments.Cache{Block: 1})
	}
	n := len(before)
	if d := compare(func(*turn) {}); d.Reason != segments.Nothing || d.Common != n || d.Cached != n-1 || d.Again != 1 {
		t.Errorf("the same prompt: %+v", d)
	}
	extra := []string{call("c3", `{}`), result("c3", "no")}
	if d := compare(func(r *turn) { r.input = append(r.input, extra...) }); d.Again != 0 || d.Cached != n {
		t.Errorf("a longer prompt: %+v", d)
	}
	// All but the day itself and the header of the answer was there.
	if d := compare(func(r *turn) { r.date = "2026-11-30" }); d.Again < d.Computed-4 {
		t.Errorf("another day: %+v", d)
	}
	was := outline("m", before, noLimits)
	for common, cached := range map[int]int{n: (n - 20) / 16 * 16, n - 40: 0, (n - 20) / 16 * 16: (n - 20) / 16 * 16} {
		d := segments.Compare(was, was, common, segments.Cache{Block: 16, End: n - 19})
		if d.Cached != cached || d.Computed != n-cached || d.Again != d.Computed-2 && common < n {
			t.Errorf("a server that goes on from the end of %d tokens, with %d in common: %+v", n-19, common, d)
		}
	}
	if d := compare(func(r *turn) { r.input = []string{user("Something else.")} }); d.Again > 16 {
		t.Errorf("another conversation: %+v", d)
	}
}

// TestLimits reads prompts that have more than fits into an outline.
func TestLimits(t *testing.T) {
	var ids []uint32
	for range 100_000 {
		ids = append(ids, tokenizer.Start, 1428, tokenizer.Message, 64, tokenizer.End)
	}
	limits := segments.Limits{Segments: 50, Blocks: 100}
	o := outline("m", ids, limits)
	last := o.Segments[len(o.Segments)-1]
	if len(o.Segments) != 50 || last.Kind != segments.Rest || len(o.Blocks) != 100 || o.Bytes() > 50*24*3+100*8*3 {
		t.Errorf("%d segments, the last %+v, %d blocks, %d bytes", len(o.Segments), last, len(o.Blocks), o.Bytes())
	}
	more := append(ids[:len(ids)-2:len(ids)-2], 65, tokenizer.End, tokenizer.Start, 173781)
	longer := outline("m", more, limits)
	d := segments.Compare(o, longer, o.CommonWith(longer, more), segments.Cache{Block: 16})
	if d.Common != 1600 || d.Reason.String() != "rest" {
		t.Errorf("%+v", d)
	}
	if n := o.CommonWith(outline("m", append(ids, 64), limits), append(ids, 64)); n != len(ids) {
		t.Errorf("%d of %d tokens in common with a prompt that goes on", n, len(ids))
	}
	for _, odd := range [][]uint32{nil, {64}, {tokenizer.Start}, {tokenizer.Start, 173781},
		{64, 64, tokenizer.Start, 17360},
		{tokenizer.Start, 77944, tokenizer.Message}, {tokenizer.Message, tokenizer.Start, tokenizer.Start}} {
		for _, limit := range []int{0, 1, 2, 1000} {
			p := outline("m", odd, segments.Limits{Segments: limit, Blocks: limit})
			segments.Compare(o, p, o.CommonWith(p, odd), segments.Cache{Block: 0})
			segments.Compare(p, o, p.CommonWith(o, ids), segments.Cache{Block: 16})
		}
	}
}
