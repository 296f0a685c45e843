package config

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Error names the setting that is wrong, as a path such as models[0].system.date, and what is wrong with it.
type Error struct {
	Path   string
	Reason string
}

// Error implements error. It is one line, whatever stands in the configuration.
func (e *Error) Error() string {
	text := "filter configuration: " + e.Reason
	if e.Path != "" {
		text = "filter configuration: " + e.Path + ": " + e.Reason
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

// ErrorVariable is the environment variable that says, for all configurations of a VM, what becomes of a wrong one where
// the host has no earlier one that is right: ErrorRefuse refuses it, and anything else has it taken for one that answers
// every request with an error.
const (
	ErrorVariable = "HARMONY_CONFIG_ERROR"
	ErrorRefuse   = "refuse"
)

const maxDepth = 8

// Parse reads a configuration and fills the defaults in. An unknown key, a newer schema or a value out of range is
// an *Error.
func Parse(data []byte) (*Config, error) {
	if len(data) == 0 {
		return nil, &Error{Reason: `there is none; it must be JSON such as {"schema":1,"models":[{"name":"gpt-oss-120b"}]}`}
	}
	v, err := rawjson.Parse(data, maxDepth)
	if err != nil {
		return nil, &Error{Reason: "not JSON: " + err.Error()}
	}
	p := &parser{}
	c := p.config(v)
	if p.err != nil {
		return nil, p.err
	}
	return c, nil
}

// parser keeps the first error; everything after it is read but not believed.
type parser struct {
	err *Error
}

func (p *parser) fail(path, reason string) {
	if p.err == nil {
		p.err = &Error{Path: path, Reason: reason}
	}
}

func (p *parser) config(v *rawjson.Value) *Config {
	c := defaults()
	p.object("", v, func(name, key string, value *rawjson.Value) bool {
		switch name {
		case "schema":
			c.Schema = p.integer(key, value, 0, 1<<30)
		case "mode":
			c.Mode = p.oneOf(key, value, ModeFull, ModeReduced)
		case "passthrough":
			c.Passthrough = p.boolean(key, value)
		case "body_limit":
			c.BodyLimit = p.integer(key, value, 1, MaxBodyLimit)
		case "stall_timeout_ms":
			c.StallTimeoutMS = p.integer(key, value, 0, 1<<30)
		case "memory_limit":
			c.MemoryLimit = p.integer(key, value, 1, MaxMemoryLimit)
		case "reasoning_ratio_alert":
			c.ReasoningRatioAlert = p.fraction(key, value)
		case "seal":
			p.seal(key, value, &c.Seal)
		case "responses_service":
			p.responsesService(key, value, &c.ResponsesService)
		case "hosted_tools":
			c.HostedTools = p.oneOf(key, value, HostedToolsIgnore, HostedToolsRefuse)
		case "models":
			c.Models = p.models(value)
		default:
			return false
		}
		return true
	})
	if c.Schema != Schema {
		p.fail("schema", "must be "+strconv.Itoa(Schema)+"; this filter reads no other")
	}
	if c.Mode == ModeReduced && len(c.Models) != 1 {
		p.fail("models", `must be exactly one where mode is "reduced", and there are `+strconv.Itoa(len(c.Models)))
	}
	p.checkService(c)
	return c
}

// object gives set each member of an object, with its path, and refuses those that set does not know.
func (p *parser) object(path string, v *rawjson.Value, set func(name, key string, value *rawjson.Value) (known bool)) {
	if v.Kind != rawjson.Object {
		p.fail(path, "must be an object")
		return
	}
	for i := range v.Members {
		key := v.Members[i].Key
		if path != "" {
			key = path + "." + key
		}
		if !set(v.Members[i].Key, key, &v.Members[i].Value) {
			p.fail(key, "unknown key")
		}
	}
}

func (p *parser) models(v *rawjson.Value) []Model {
	if v.Kind != rawjson.Array {
		p.fail("models", "must be an array")
		return nil
	}
	models := make([]Model, 0, len(v.Elements))
	for i := range v.Elements {
		path := "models[" + strconv.Itoa(i) + "]"
		m := p.model(path, &v.Elements[i])
		for j := range models {
			if models[j].Name == m.Name {
				p.fail(path+".name", "stands twice: "+m.Name)
			}
		}
		models = append(models, m)
	}
	return models
}

func (p *parser) model(path string, v *rawjson.Value) Model {
	m := DefaultModel("")
	m.Pool, m.ServerModel = "", ""
	p.object(path, v, func(name, key string, value *rawjson.Value) bool {
		switch name {
		case "name":
			m.Name = p.text(key, value)
		case "pool":
			m.Pool = p.text(key, value)
		case "server":
			m.Server = p.oneOf(key, value, contract.ServerKinds()...)
		case "server_model":
			m.ServerModel = p.text(key, value)
		case "context_length":
			m.ContextLength = p.integer(key, value, 1, MaxContextLength)
		case "max_reasoning_tokens":
			m.MaxReasoningTokens = p.integer(key, value, 0, MaxContextLength)
		case "thinking_token_budget":
			m.ThinkingTokenBudget = p.boolean(key, value)
		case "drain_tokens":
			m.DrainTokens = p.integer(key, value, 0, MaxContextLength)
		case "structured_outputs":
			m.StructuredOutputs = p.oneOf(key, value, StructuralTags, NoStructure)
		case "raw_prompts":
			m.RawPrompts = p.oneOf(key, value, "deny", "allow")
		case "reasoning_efforts":
			p.efforts(key, value, &m.ReasoningEfforts)
		case "drop_commentary_from_history":
			m.DropCommentaryFromHistory = p.boolean(key, value)
		case "unsupported_content":
			m.UnsupportedContent = p.oneOf(key, value, ContentRefuse, ContentDrop)
		case "server_extras":
			m.ServerExtras = p.extras(key, value)
		case "answers":
			p.answers(key, value, &m.Answers)
		case "system":
			p.system(key, value, &m.System)
		default:
			return false
		}
		return true
	})
	if m.Name == "" {
		p.fail(path+".name", "is required")
	}
	if m.Pool == "" {
		m.Pool = m.Name
	}
	if m.ServerModel == "" {
		m.ServerModel = m.Name
	}
	return m
}

func (p *parser) system(path string, v *rawjson.Value, s *System) {
	p.object(path, v, func(name, key string, value *rawjson.Value) bool {
		switch name {
		case "identity":
			s.Identity = p.text(key, value)
		case "knowledge_cutoff":
			s.KnowledgeCutoff = p.text(key, value)
		case "date":
			s.Date = p.text(key, value)
			if !ValidDate(s.Date) {
				p.fail(key, `must be "utc", "omit" or a day as YYYY-MM-DD`)
			}
		case "effort":
			s.Effort = p.oneOf(key, value, "low", "medium", "high")
		default:
			return false
		}
		return true
	})
}

// ValidDate reports whether s may stand in System.Date.
func ValidDate(s string) bool {
	if s == DateUTC || s == DateOmit {
		return true
	}
	if len(s) != len("2026-01-02") {
		return false
	}
	for i := 0; i < len(s); i++ {
		if i == 4 || i == 7 {
			if s[i] != '-' {
				return false
			}
		} else if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	month, day := s[5:7], s[8:10]
	return month >= "01" && month <= "12" && day >= "01" && day <= "31"
}

func (p *parser) text(path string, v *rawjson.Value) string {
	if v.Kind != rawjson.String {
		p.fail(path, "must be a string")
	}
	return v.Text
}

func (p *parser) boolean(path string, v *rawjson.Value) bool {
	if v.Kind != rawjson.Bool {
		p.fail(path, "must be true or false")
	}
	return v.Bool
}

func (p *parser) integer(path string, v *rawjson.Value, low, high int) int {
	n, err := strconv.Atoi(v.Text)
	if v.Kind != rawjson.Number || err != nil || n < low || n > high {
		p.fail(path, "must be a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
	}
	return n
}

func (p *parser) fraction(path string, v *rawjson.Value) float64 {
	f, err := strconv.ParseFloat(v.Text, 64)
	if v.Kind != rawjson.Number || err != nil || !(f >= 0 && f <= 1) {
		p.fail(path, "must be a number from 0 to 1")
	}
	return f
}

func (p *parser) oneOf(path string, v *rawjson.Value, words ...string) string {
	list := ""
	for i, w := range words {
		if v.Kind == rawjson.String && v.Text == w {
			return w
		}
		if i > 0 {
			list += ", "
		}
		list += `"` + w + `"`
	}
	p.fail(path, "must be one of "+list)
	return words[0]
}
