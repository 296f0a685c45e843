package config

import (
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// AppendJSON appends the configuration as Parse reads it. What has its default is left out: a filter that is older than a
// setting refuses the setting's name, and so takes every configuration that does not need it.
func (c *Config) AppendJSON(dst []byte) []byte {
	otherwise := defaults()
	w := &writer{dst: append(dst, '{'), first: true}
	w.key("schema")
	w.dst = rawjson.AppendInt(w.dst, int64(c.Schema))
	w.text("mode", c.Mode, otherwise.Mode)
	w.flag("passthrough", c.Passthrough, otherwise.Passthrough)
	w.integer("body_limit", c.BodyLimit, otherwise.BodyLimit)
	w.integer("stall_timeout_ms", c.StallTimeoutMS, otherwise.StallTimeoutMS)
	w.integer("memory_limit", c.MemoryLimit, otherwise.MemoryLimit)
	if c.ReasoningRatioAlert != otherwise.ReasoningRatioAlert {
		w.key("reasoning_ratio_alert")
		w.dst = strconv.AppendFloat(w.dst, c.ReasoningRatioAlert, 'g', -1, 64)
	}
	w.object("seal", func() { c.Seal.write(w, &otherwise.Seal) })
	if c.ResponsesService.Pool != "" {
		w.object("responses_service", func() { c.ResponsesService.write(w) })
	}
	w.text("hosted_tools", c.HostedTools, otherwise.HostedTools)
	if len(c.Models) > 0 {
		w.key("models")
		w.dst = append(w.dst, '[')
		for i := range c.Models {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.dst, w.first = append(w.dst, '{'), true
			c.Models[i].write(w)
			w.dst = append(w.dst, '}')
		}
		w.dst = append(w.dst, ']')
	}
	return append(w.dst, '}')
}

func (m *Model) write(w *writer) {
	otherwise := DefaultModel(m.Name)
	w.key("name")
	w.dst = rawjson.AppendString(w.dst, m.Name)
	w.text("pool", m.Pool, otherwise.Pool)
	w.text("server", m.Server, otherwise.Server)
	w.text("server_model", m.ServerModel, otherwise.ServerModel)
	w.integer("context_length", m.ContextLength, otherwise.ContextLength)
	w.integer("max_reasoning_tokens", m.MaxReasoningTokens, otherwise.MaxReasoningTokens)
	w.flag("thinking_token_budget", m.ThinkingTokenBudget, otherwise.ThinkingTokenBudget)
	w.integer("drain_tokens", m.DrainTokens, otherwise.DrainTokens)
	w.text("structured_outputs", m.StructuredOutputs, otherwise.StructuredOutputs)
	w.text("raw_prompts", m.RawPrompts, otherwise.RawPrompts)
	w.object("reasoning_efforts", func() { m.ReasoningEfforts.write(w, &otherwise.ReasoningEfforts) })
	w.flag("drop_commentary_from_history", m.DropCommentaryFromHistory, otherwise.DropCommentaryFromHistory)
	w.text("unsupported_content", m.UnsupportedContent, otherwise.UnsupportedContent)
	if !slices.Equal(m.ServerExtras, otherwise.ServerExtras) {
		w.key("server_extras")
		w.dst = append(w.dst, '[')
		for i, name := range m.ServerExtras {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.dst = rawjson.AppendString(w.dst, name)
		}
		w.dst = append(w.dst, ']')
	}
	w.object("answers", func() { m.Answers.write(w, &otherwise.Answers) })
	w.object("system", func() { m.System.write(w, &otherwise.System) })
}

func (s *System) write(w *writer, otherwise *System) {
	w.text("identity", s.Identity, otherwise.Identity)
	w.text("knowledge_cutoff", s.KnowledgeCutoff, otherwise.KnowledgeCutoff)
	w.text("date", s.Date, otherwise.Date)
	w.text("effort", s.Effort, otherwise.Effort)
}

// writer appends the members of objects, each with the value that a reader has without it.
type writer struct {
	dst   []byte
	first bool
}

func (w *writer) key(name string) {
	if !w.first {
		w.dst = append(w.dst, ',')
	}
	w.first = false
	w.dst = append(rawjson.AppendString(w.dst, name), ':')
}

func (w *writer) text(name, value, otherwise string) {
	if value != otherwise {
		w.key(name)
		w.dst = rawjson.AppendString(w.dst, value)
	}
}

func (w *writer) flag(name string, on, otherwise bool) {
	if on != otherwise {
		w.key(name)
		w.dst = strconv.AppendBool(w.dst, on)
	}
}

func (w *writer) integer(name string, value, otherwise int) {
	if value != otherwise {
		w.key(name)
		w.dst = rawjson.AppendInt(w.dst, int64(value))
	}
}

// object appends what members writes, or nothing if that is nothing.
func (w *writer) object(name string, members func()) {
	before, first := len(w.dst), w.first
	w.key(name)
	w.dst, w.first = append(w.dst, '{'), true
	if members(); w.first {
		w.dst, w.first = w.dst[:before], first
		return
	}
	w.dst = append(w.dst, '}')
}
