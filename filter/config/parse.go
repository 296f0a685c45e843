package config

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Error is an error in a setting. Path is the setting's place, such as models[0].system.date.
type Error struct {
	Path   string
	Reason string
}

// Error implements error. The text is one line, whatever the configuration holds.
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

// maxDepth has room for the objects of an operator, such as a JSON schema in extra_body.
const maxDepth = 40

// Parse reads a configuration and fills in the defaults. An unknown key, a newer schema or a value out of range is an
// [*Error].
func Parse(data []byte) (*contract.Config, error) {
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

// parser keeps the first error. Values read after an error have no effect.
type parser struct {
	err *Error
}

func (p *parser) fail(path, reason string) {
	if p.err == nil {
		p.err = &Error{Path: path, Reason: reason}
	}
}

func (p *parser) config(v *rawjson.Value) *contract.Config {
	c := contract.DefaultConfig()
	c.Schema = 0
	p.object("", v, c.Fields(), func(name, key string, value *rawjson.Value) bool {
		switch name {
		case "schema":
			c.Schema = p.integer(key, value, 0, 1<<30)
		case "models":
			c.Models = p.models(value)
		default:
			return false
		}
		return true
	})
	if c.Schema != contract.Schema {
		p.fail("schema", "must be "+strconv.Itoa(contract.Schema)+"; this filter reads no other")
	}
	if c.Mode == contract.ModeReduced && len(c.Models) != 1 {
		p.fail("models", `must be exactly one where mode is "reduced", and there are `+strconv.Itoa(len(c.Models)))
	}
	if c.Clients.Unsorted() {
		p.fail("clients", "keys, contexts and classes must be in ascending order")
	}
	if c.Clients.By == contract.ClientsByHeader && c.Clients.Header == "" {
		p.fail("clients.header", "is required")
	}
	if c.Clients.Reserve && c.Mode == contract.ModeReduced {
		p.fail("clients.reserve", `cannot be where mode is "reduced": headers are sent on there before the prompt is known`)
	}
	p.checkService(c)
	p.checkTranslate(c)
	return c
}

// checkTranslate checks that requests that are not translated have somewhere to go.
func (p *parser) checkTranslate(c *contract.Config) {
	for i := range c.Models {
		m := &c.Models[i]
		if reason := contract.CannotPass(&m.ModelSettings, contract.KindNamed(m.Server), c.Mode); reason != "" {
			p.fail("models["+strconv.Itoa(i)+"].translate", reason)
		}
		p.checkPrefill("models["+strconv.Itoa(i)+"].prefill", m, c.Mode)
		p.checkRender("models["+strconv.Itoa(i)+"].render", m, c.Mode)
		p.checkRoute("models["+strconv.Itoa(i)+"].route", m, c.Mode)
		if m.OverflowModel != "" {
			p.checkOverflow("models["+strconv.Itoa(i)+"].overflow_model", m, c)
		}
	}
}

// checkOverflow checks that there is a model for requests that do not fit this one.
func (p *parser) checkOverflow(path string, m *contract.Model, c *contract.Config) {
	from := overflowOf(m)
	for i := range c.Models {
		if c.Models[i].Name != m.OverflowModel {
			continue
		}
		if to := overflowOf(&c.Models[i]); from.Kind != nil && to.Kind != nil {
			if reason := contract.CannotOverflow(&from, &to, c.Mode); reason != "" {
				p.fail(path, reason)
			}
		}
		return
	}
	p.fail(path, "there is no such model")
}

func overflowOf(m *contract.Model) contract.Overflow {
	return contract.Overflow{ModelSettings: &m.ModelSettings, Name: m.Name, Kind: contract.KindNamed(m.Server),
		Routed: len(m.Route) > 0}
}

// checkRoute checks that the model's requests can be divided among pools.
func (p *parser) checkRoute(path string, m *contract.Model, mode string) {
	kind := contract.KindNamed(m.Server)
	if len(m.Route) == 0 || kind == nil {
		return
	}
	if reason := contract.CannotRoute(kind, mode); reason != "" {
		p.fail(path, reason)
	}
	for i := range m.Route {
		one := *m
		one.Prefill = m.Route[i].Prefill
		p.checkPrefill(path+"["+strconv.Itoa(i)+"].prefill", &one, mode)
	}
}

// checkRender checks that the model's conversations can be rendered.
func (p *parser) checkRender(path string, m *contract.Model, mode string) {
	kind := contract.KindNamed(m.Server)
	switch {
	case kind == nil:
	case !kind.Renders:
		if m.Render.Cluster != "" {
			p.fail(path, "is for servers of the kind "+contract.VLLMRender)
		}
	case m.Render.Cluster == "":
		p.fail(path+".cluster", "is missing: servers of the kind "+kind.Name+" are asked to render conversations")
	default:
		if reason := contract.CannotRender(&m.ModelSettings, kind, mode); reason != "" {
			p.fail(path, reason)
		}
	}
}

// checkPrefill checks that the model's servers can leave the reading of prompts to others.
func (p *parser) checkPrefill(path string, m *contract.Model, mode string) {
	kind := contract.KindNamed(m.Server)
	if m.Prefill.Cluster == "" || kind == nil {
		return
	}
	if reason := contract.CannotPrefill(&m.ModelSettings, kind, mode); reason != "" {
		p.fail(path, reason)
	}
	if kind.Prefill != contract.PrefillBootstrap {
		return
	}
	const alone = " servers do not read a prompt in another's place"
	if m.Prefill.OnFailure != contract.PrefillRefuse {
		p.fail(path+".on_failure", `must be "refuse": `+kind.Name+alone)
	}
	if m.Prefill.MinTokens > 0 {
		p.fail(path+".min_tokens", "must be 0: "+kind.Name+alone)
	}
}

// checkService checks the responses service against the rest of the configuration.
func (p *parser) checkService(c *contract.Config) {
	s := &c.ResponsesService
	if s.Pool == "" {
		return
	}
	if !s.Stores && !s.HostedTools {
		p.fail("responses_service", "takes nothing: stores or hosted_tools must be true")
	}
	if c.Mode == contract.ModeReduced {
		p.fail("responses_service",
			`cannot be where mode is "reduced": a request's way is chosen there before its body says what it needs`)
	}
	for i := range c.Models {
		if c.Models[i].Pool == s.Pool || contract.IsBranchRoute(s.Pool, c.Models[i].Name) {
			p.fail("responses_service.pool", "is the pool of the model "+c.Models[i].Name+" too")
		}
	}
}

func (p *parser) models(v *rawjson.Value) []contract.Model {
	if v.Kind != rawjson.Array {
		p.fail("models", "must be an array")
		return nil
	}
	models := make([]contract.Model, 0, len(v.Elements))
	for i := range v.Elements {
		models = append(models, p.model("models["+strconv.Itoa(i)+"]", &v.Elements[i]))
	}
	p.checkNames(models)
	return models
}

// checkNames checks that a name that a client may use stands for one model.
func (p *parser) checkNames(models []contract.Model) {
	named := make([]contract.Named, 0, len(models))
	for i := range models {
		named = append(named, contract.Named{Name: models[i].Name, Aliases: models[i].Aliases})
	}
	e := contract.CheckNames(named)
	if e == nil {
		return
	}
	path := "models[" + strconv.Itoa(e.Model) + "].name"
	if e.Alias >= 0 {
		path = "models[" + strconv.Itoa(e.Model) + "].aliases[" + strconv.Itoa(e.Alias) + "]"
	}
	p.fail(path, e.Reason)
}

func (p *parser) model(path string, v *rawjson.Value) contract.Model {
	m := contract.DefaultModel("")
	p.object(path, v, m.Fields(), nil)
	if m.Pool == "" {
		m.Pool = m.Name
	}
	if m.PoolName == "" {
		m.PoolName = m.Name
	}
	if m.ServerModel == "" {
		m.ServerModel = m.Name
	}
	kind := contract.KindNamed(m.Server)
	if kind == nil {
		return m
	}
	if !kind.Conversations {
		if _, err := openai.ReadDefaults(m.ExtraBody, kind); err != nil {
			p.fail(strings.TrimSuffix(path+".extra_body."+err.Param, "."), err.Message)
		}
	}
	if _, err := openai.ReadOverrides(m.SamplingOverrides, kind); err != nil {
		p.fail(strings.TrimSuffix(path+".sampling_overrides."+err.Param, "."), err.Message)
	}
	return m
}
