package contract

import "unicode/utf8"

// Render determines which servers turn the conversations of a model into token ids, for a kind with
// [Capabilities.Renders] (docs/vllm-render.md).
type Render struct {
	// Cluster is the proxy's name of the cluster of the servers that render. Pool is the operator's name of their pool, for
	// logs.
	Cluster, Pool string
}

// RenderTimeoutMS limits the rendering of a conversation where the operator has turned the stall timeout off, in
// milliseconds.
const RenderTimeoutMS = 60_000

// A rendered conversation has the ids of the prompt, in decimal digits with a comma behind each, and what else the
// engine must know.
const (
	// maxRenderedID is the most bytes that an id of a prompt has, with a comma and a space.
	maxRenderedID = 12
	// maxRenderedRest is the most bytes of the rest. A structural tag repeats the schemas of all functions.
	maxRenderedRest = 4 << 20
	// MaxRendered is the most bytes of a rendered conversation, whatever the context.
	MaxRendered = 64 << 20
)

// MaxRenderedIn returns how much is read of a rendered conversation for a context of so many tokens, in bytes.
func MaxRenderedIn(context int) int {
	if context > (MaxRendered-maxRenderedRest)/maxRenderedID {
		return MaxRendered
	}
	return context*maxRenderedID + maxRenderedRest
}

// MaxSpelling is the maximum length of a text of [ModelSettings.ControlSpellings], in bytes.
const MaxSpelling = 64

// ValidSpelling reports whether a text may be one of [ModelSettings.ControlSpellings]. Its bytes stand in JSON as they
// are.
func ValidSpelling(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == '"' || s[i] == '\\' {
			return false
		}
	}
	return len(s) > 1 && len(s) <= MaxSpelling && utf8.ValidString(s)
}

// Fields returns the settings of the block.
func (r *Render) Fields() []Field {
	return []Field{text("cluster", &r.Cluster, "").required(), text("pool", &r.Pool, "")}
}

// CannotRender returns the reason why a model of this kind cannot have its conversations rendered, or "".
func CannotRender(m *ModelSettings, kind *Kind, mode string) string {
	switch {
	case !kind.Renders:
		return ""
	case mode == ModeReduced:
		return `cannot be where mode is "reduced": a request is sent on there before its conversation is rendered`
	case m.TranslatedShare() != 100:
		return "is for translated requests; leave translate out, or use servers of the kind " + Chat
	}
	return ""
}
