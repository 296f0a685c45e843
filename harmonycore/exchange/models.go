package exchange

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// maxOthers is the greatest length of another server's list, in bytes.
const maxOthers = 4 << 20

// oneModel is the endpoint of a single model.
type oneModel struct {
	x    *Exchange
	name string
}

// beginOneModel leaves a request for an unknown model to the other server, if there is one.
func beginOneModel(x *Exchange, escaped string) endpoint {
	name := unescaped(escaped)
	if name == "" || x.gateway.model(name) == nil && x.gateway.options.Passthrough {
		return nil
	}
	x.form = formByVersion
	return &oneModel{x: x, name: name}
}

func (m *oneModel) head() RequestHead { return m.x.awaitBody() }

func (m *oneModel) request([]byte, Host) RequestAction {
	model := m.x.gateway.model(m.name)
	if model == nil {
		return m.x.refuse(errModelNotFound(m.name))
	}
	if m.x.Anthropic() {
		return m.x.answer(&Reply{Status: 200, Body: listedAnthropic(model, m.name).AppendJSON(nil)})
	}
	return m.x.answer(&Reply{Status: 200, Body: listed(model, m.name).AppendJSON(nil)})
}

func (m *oneModel) early() response { return m.x.earlyReply() }

// modelList is the endpoint of the list of models. The gateway waits for the list of the server for all other models,
// and puts its own models in front. If that list cannot be fetched, the response lists only the gateway's own models.
type modelList struct {
	x *Exchange
	// merging reports whether the other server's list is awaited. complete reports whether the client has got the whole
	// list.
	merging, complete bool
	// others is the part of the other server's list that has come.
	others []byte
}

func beginModelList(x *Exchange, _ string) endpoint {
	x.form = formByVersion
	return &modelList{x: x}
}

func (l *modelList) head() RequestHead { return l.x.awaitBody() }

func (l *modelList) request([]byte, Host) RequestAction {
	if l.x.gateway.passesOtherModels() {
		l.x.response = l
		return RequestAction{Forward: &Forward{Readable: true}}
	}
	return l.x.answer(&Reply{Status: 200, Body: l.list()})
}

func (l *modelList) early() response { return l }

func (l *modelList) headers(h ResponseHead) ResponseAction {
	if h.Local || h.Status != 200 || h.End || !isJSON(h.ContentType) {
		return l.reply()
	}
	l.merging = true
	return ResponseAction{Hold: true}
}

func (l *modelList) body(chunk []byte, end bool) ResponseAction {
	switch {
	case l.complete:
		return ResponseAction{}
	case !l.merging:
		return l.reply()
	case len(l.others)+len(chunk) > maxOthers:
		l.others = nil
		return l.reply()
	}
	l.others = append(l.others, chunk...)
	if !end {
		return l.x.client.wait()
	}
	l.complete = true
	return l.x.client.last(200, contentTypeJSON, l.list())
}

func (l *modelList) trailers() ResponseAction {
	if l.complete {
		return ResponseAction{Pass: true}
	}
	return l.reply()
}

func (l *modelList) silent(int64) ResponseAction {
	if l.complete {
		return ResponseAction{}
	}
	l.others = nil
	return l.reply()
}

// reply answers with the list in place of the other server's response.
func (l *modelList) reply() ResponseAction {
	return l.x.client.reply(&Reply{Status: 200, Body: l.list()})
}

// list returns the gateway's models, and after them the models of the other server's list, in the client's form.
func (l *modelList) list() []byte {
	g := l.x.gateway
	isOwn := func(name string) bool { return g.model(name) != nil }
	if l.x.Anthropic() {
		all := make([]anthropic.ListedModel, 0, len(g.models))
		g.eachName(func(m *Model, name string) { all = append(all, listedAnthropic(m, name)) })
		return anthropic.AppendModels(nil, anthropic.AppendOthers(all, l.others, isOwn))
	}
	own := make([]openai.ListedModel, 0, len(g.models))
	g.eachName(func(m *Model, name string) { own = append(own, listed(m, name)) })
	return openai.AppendModels(nil, own, l.others, isOwn)
}

// eachName calls list for each model, with its name and then with its aliases. Patterns are not names, and are not
// listed.
func (g *Gateway) eachName(list func(m *Model, name string)) {
	for i := range g.models {
		m := &g.models[i]
		list(m, m.Name)
		for _, alias := range m.Aliases {
			if _, pattern := contract.PatternOf(alias); !pattern {
				list(m, alias)
			}
		}
	}
}

// listed returns the model under a name that clients call it by.
func listed(m *Model, name string) openai.ListedModel {
	return openai.ListedModel{Name: name, ContextLength: m.ContextLength}
}

// listedAnthropic is listed for Anthropic's clients.
func listedAnthropic(m *Model, name string) anthropic.ListedModel {
	return anthropic.ListedModel{Name: name, ContextLength: m.ContextLength}
}

// unescaped returns a copy of a path with each %XX decoded. Clients escape the slash in a model's name. net/url would
// need reflection, which the filter is built without.
func unescaped(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return strings.Clone(path)
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(c))
				i += 2
				continue
			}
		}
		out = append(out, path[i])
	}
	return string(out)
}
