package contract

import "strings"

// MaxRoute is how many rules a model's route may have. Every request for the model is compared with each.
const MaxRoute = 16

// Branch is one rule of a model's route: a further pool of the model, and the requests that go there. The first rule
// that fits a request counts. Requests that no rule fits go to the model's own pool.
type Branch struct {
	// Class is the class of the clients whose requests the pool gets. Empty: all clients.
	Class string
	// MaxPrompt is the most tokens that a prompt may have for the pool. 0 is no limit besides the context.
	MaxPrompt int
	// MinAnswer is how many tokens of the pool's context a prompt must leave for the answer, unless the client asks for
	// fewer or the model's own pool leaves fewer too.
	MinAnswer int
	// ContextLength is the context of the pool's servers in tokens. 0 is the model's, and more than that counts as that.
	ContextLength int
	// Pool, PoolName, Policy, Routing and Prefill are as in [Model], for this pool.
	Pool, PoolName, Policy string
	Routing                Routing
	Prefill                Prefill
}

// Fields returns the settings of the block.
func (b *Branch) Fields() []Field {
	prefill := block("prefill", b.Prefill.Fields())
	prefill.Optional = true
	return []Field{
		valid(text("class", &b.Class, ""), ValidClass, "must be the name of a class"),
		number("max_prompt", &b.MaxPrompt, 0, 0, MaxContextLength),
		number("min_answer", &b.MinAnswer, DefaultMinAnswer, 1, MaxContextLength),
		number("context_length", &b.ContextLength, 0, 0, MaxContextLength),
		text("pool", &b.Pool, "").required(),
		text("pool_name", &b.PoolName, ""),
		valid(text("policy", &b.Policy, PolicyLeastRequest), validPolicy,
			"must be 1 to 32 lower-case letters and underscores"),
		block("routing", b.Routing.Fields()),
		prefill,
	}
}

// DefaultMinAnswer is the default of [Branch.MinAnswer].
const DefaultMinAnswer = 1

// ValidClass reports whether s can be the name of a class of clients, or is empty.
func ValidClass(s string) bool { return s == "" || ValidClient(s) }

// route returns the rules as a setting.
func route(all *[]Branch) Field {
	return Field{Key: "route", Blocks: &Blocks{
		Max: MaxRoute, Len: func() int { return len(*all) }, Clear: func() { *all = nil },
		At: func(i int) []Field { return (*all)[i].Fields() },
		Add: func() []Field {
			*all = append(*all, Branch{})
			fields := (*all)[len(*all)-1].Fields()
			SetDefaults(fields)
			return fields
		},
	}}
}

// CannotRoute returns why a model's requests cannot be divided among pools, or "". kind is the kind of its servers.
func CannotRoute(kind *Kind, mode string) string {
	switch {
	case mode == ModeReduced:
		return "cannot be used in mode reduced, where a server is chosen before the length of the prompt is known"
	case kind.Conversations && !kind.Renders:
		return "is for servers that take prompts: those of the kind " + kind.Name +
			" count the tokens of a conversation themselves"
	}
	return ""
}

// The reasons for the choice of a pool, in [RouteHeader] and in the access log.
const (
	// RouteClass: the rule is for the client's class. RouteLength: the prompt is short enough for the rule's pool, or too
	// long for a rule before. RouteContext: the context of a pool before has no room for prompt and answer. RouteDefault:
	// the model's own pool takes what no rule fits.
	RouteClass   = "class"
	RouteLength  = "length"
	RouteContext = "context"
	RouteDefault = "default"
)

// RouteValue returns the value of [RouteHeader].
func RouteValue(pool, why string) string { return pool + ";why=" + why }

// ParseRoute returns the pool and the reason of a value of [RouteHeader].
func ParseRoute(value string) (pool, why string) {
	pool, rest, _ := strings.Cut(value, ";why=")
	why, _, _ = strings.Cut(rest, ";")
	return pool, why
}

// SpareValue returns the value of [RouteHeader] where a server of another pool has answered, one of the spares of the
// pool in the value.
func SpareValue(value, spare string) string { return value + ";spare=" + spare }

// A server of a spare has its pool's name in its metadata, as SpareKey of MetadataNamespace.
const (
	MetadataNamespace = "harmony"
	SpareKey          = "spare"
	// A server that is drained has IsDraining there, as DrainingKey.
	DrainingKey = "draining"
	IsDraining  = "1"
)

// BranchRoute returns the value of [PoolHeader] that leads to a further pool of a model. No model's name has a space.
func BranchRoute(model, pool string) string { return model + " to " + pool }

// IsBranchRoute reports whether a value of [PoolHeader] is a [BranchRoute] of a model.
func IsBranchRoute(route, model string) bool { return strings.HasPrefix(route, model+" to ") }
