package tapjson

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// maxText is how much of a text a frame has, in bytes: a client chooses how long its path is.
const maxText = 2048

// members appends the members of an object. Those that are empty are left out, but by required.
type members []byte

func (m members) key(name string) members {
	if m[len(m)-1] != '{' {
		m = append(m, ',')
	}
	return append(rawjson.AppendString(m, name), ':')
}

func (m members) text(name, value string) members {
	if value == "" {
		return m
	}
	return m.required(name, value)
}

func (m members) required(name, value string) members {
	return rawjson.AppendString(m.key(name), value[:min(len(value), maxText)])
}

func (m members) number(name string, n int64) members {
	if n == 0 {
		return m
	}
	return strconv.AppendInt(m.key(name), n, 10)
}

func (m members) flag(name string, set bool) members {
	if !set {
		return m
	}
	return append(m.key(name), "true"...)
}

// AppendRequestHead appends the payload of a [tap.Request].
func AppendRequestHead(dst []byte, h *tap.RequestHead) []byte {
	m := append(members(dst), '{').required("method", h.Method).required("path", h.Path).text("request_id", h.RequestID)
	return append(m, '}')
}

// AppendSentHead appends the payload of a [tap.Sent].
func AppendSentHead(dst []byte, h *tap.SentHead) []byte {
	m := append(members(dst), '{').text("path", h.Path).text("pool", h.Pool).text("api", h.API).text("model", h.Model).
		text("server", h.Server).text("speaks", h.Speaks).key("translated")
	return append(strconv.AppendBool(m, h.Translated), '}')
}

// AppendResponseHead appends the payload of a [tap.Head] or [tap.AnswerHead].
func AppendResponseHead(dst []byte, h *tap.ResponseHead) []byte {
	m := append(members(dst), '{').key("status")
	m = strconv.AppendInt(m, int64(h.Status), 10)
	return append(m.text("content_type", h.ContentType).flag("local", h.Local), '}')
}

// AppendEndReport appends the payload of a [tap.End]. status is what the client got, and lost is how many frames were
// lost.
func AppendEndReport(dst []byte, r *exchange.Report, around *tap.Around, status, lost int) []byte {
	m := append(members(dst), '{').text("api", r.API).text("model", r.Model).text("server", r.Server).
		text("pool", r.Pool).text("policy", r.Policy).text("route", r.Route).text("client", r.Client).
		text("upstream", around.Upstream).text("class", around.Class).number("queued_ms", around.QueuedMS).
		number("status", int64(status))
	first := int64(-1)
	if r.Translated {
		m = m.text("finish", r.Finish).text("cut", r.Cut).text("early_end", r.EarlyEnd).
			number("prompt_tokens", int64(r.PromptTokens)).number("cached_tokens", int64(r.CachedTokens)).
			number("reasoning_tokens", int64(r.Reasoning)).number("preamble_tokens", int64(r.Preamble)).
			number("final_tokens", int64(r.Final)).
			number("tool_call_tokens", int64(r.ToolCall)).number("completion_tokens", int64(r.CompletionTokens))
		first = r.FirstToken
	}
	m = strconv.AppendInt(m.key("first_token_ms"), first, 10)
	if r.Translated && r.Recoveries.Total() > 0 {
		m = append(m.key("recoveries"), '{')
		for kind, n := range &r.Recoveries {
			m = m.number(harmony.Recovery(kind).String(), int64(n))
		}
		m = append(m, '}')
	}
	m = append(append(m.key("lost_frames"), noneLost...), '}')
	AddLost(m, lost)
	return m
}

// noneLost is the last number of an end, with room to grow.
const (
	noneLost  = "         0"
	lostWidth = len(noneLost)
)

// AddLost adds n to the frames that were lost by the payload of a [tap.End], which [AppendEndReport] wrote.
func AddLost(end []byte, n int) {
	number := end[len(end)-1-lostWidth : len(end)-1]
	before := 0
	for _, c := range number {
		if c != ' ' {
			before = 10*before + int(c-'0')
		}
	}
	n += before
	for i := lostWidth - 1; i >= 0 && (n > 0 || i == lostWidth-1); i-- {
		number[i] = byte('0' + n%10)
		n /= 10
	}
}
