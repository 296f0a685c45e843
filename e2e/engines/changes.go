package engines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect"
)

// Change is a turn of an agent and the next one, in which something of the past has changed.
type Change struct {
	// Reason is the name of the change as harmony inspect diff has it.
	Reason string
	// First and Next are the turns, as lines of harmony inspect render.
	First, Next []byte
}

// turn is a request to Responses on a day.
type turn struct {
	model, date, effort, instructions, tools string
	input                                    []string
}

func (r *turn) line(number int) []byte {
	return fmt.Appendf(nil, `{"responses":{"model":%q,"reasoning":{"effort":%q},"instructions":"Conversation %d. %s",`+
		`"tools":[%s],"input":[%s]},"date":%q}`, r.model, r.effort, number, r.instructions, r.tools,
		strings.Join(r.input, ","), r.date)
}

const (
	lookTool  = `{"type":"function","name":"look","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}`
	writeTool = `{"type":"function","name":"write","parameters":{"type":"object","properties":{"to":{"type":"string"}}}}`
)

func message(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

func thought(text string) string {
	return fmt.Sprintf(`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":%q}]}`, text)
}

// called is a call of the tool look and its result.
func called(id, arguments, output string) []string {
	return []string{fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"look","arguments":%q}`, id, arguments),
		fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, output)}
}

// agentTurn is a turn of some hundred tokens.
func agentTurn() turn {
	input := []string{message("user", "What is in a.txt and in b.txt? "+strings.Repeat("Look at each word. ", 20)),
		thought("The user wants both. I look at a.txt.")}
	input = append(input, called("c1", `{"path":"a.txt"}`, strings.Repeat("one two three ", 30))...)
	input = append(append(input, thought("Now b.txt.")), called("c2", `{"path":"b.txt"}`,
		strings.Repeat("four five ", 40))...)
	return turn{model: VLLMModel, date: "2026-11-29", effort: "medium", instructions: "You help with files.",
		tools: lookTool + "," + writeTool, input: input}
}

// Changes returns a change of each kind. No two of them have the same instructions.
func Changes() (list []Change) {
	for i, c := range []struct {
		reason string
		change func(next *turn)
	}{
		{"none", func(*turn) {}},
		{"date", func(r *turn) { r.date = "2026-11-30" }},
		{"effort", func(r *turn) { r.effort = "high" }},
		{"tools", func(r *turn) { r.tools = writeTool + "," + lookTool }},
		{"tools", func(r *turn) { r.tools = "" }},
		{"instructions", func(r *turn) { r.instructions += " It is 10:01." }},
		{"user", func(r *turn) { r.input[0] = message("user", "What is in a.txt?") }},
		{"reasoning", func(r *turn) { r.input[1] = thought("I look at a.txt.") }},
		{"reasoning_dropped", func(r *turn) { r.input = slices.Delete(r.input, 1, 2) }},
		{"reasoning_dropped", func(r *turn) {
			r.input = append(r.input, message("assistant", "Words."), message("user", "Ah."))
		}},
		{"call", func(r *turn) { r.input[5] = strings.Replace(r.input[5], `{\"path\":`, `{ \"path\": `, 1) }},
		{"result", func(r *turn) { r.input[3] = called("c1", "{}", "[cleared]")[1] }},
		{"messages_removed", func(r *turn) { r.input = slices.Delete(r.input, 1, 4) }},
		{"messages_inserted", func(r *turn) { r.input = slices.Insert(r.input, 4, message("user", "Be quick.")) }},
	} {
		first, next := agentTurn(), agentTurn()
		next.input = append(next.input, called("c3", `{"path":"c.txt"}`, "It does not exist.")...)
		c.change(&next)
		list = append(list, Change{c.reason, first.line(i), next.line(i)})
	}
	return list
}

// RenderLine returns the prompt of a line of harmony inspect render.
func RenderLine(line []byte) ([]uint32, error) {
	var out bytes.Buffer
	if _, err := inspect.Run(bytes.NewReader(line), &out, inspect.Render, o200k.Tokenizer()); err != nil {
		return nil, err
	}
	var answer struct{ Completion []uint32 }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return nil, err
	}
	if len(answer.Completion) == 0 {
		return nil, errors.New(out.String())
	}
	return answer.Completion, nil
}
