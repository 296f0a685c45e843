package contract

// Overflow is what counts of a model for [CannotOverflow].
type Overflow struct {
	*ModelSettings
	Name string
	// Kind is the kind of the model's servers, and Routed reports whether it has further pools.
	Kind   *Kind
	Routed bool
}

// CannotOverflow returns why a model cannot name another for requests that do not fit its context, or "".
func CannotOverflow(from, to *Overflow, mode string) string {
	switch {
	case mode == ModeReduced:
		return "cannot be used in mode reduced, where a server is chosen before the length of the prompt is known"
	case from.Name == to.Name:
		return "is the model itself"
	case from.Kind.Renders:
		return "is for servers that take prompts: a request for the kind " + from.Kind.Name +
			" is not kept until its tokens are counted"
	case from.Kind.Conversations:
		return "is for servers that take prompts: those of the kind " + from.Kind.Name +
			" count the tokens of a conversation themselves"
	case to.OverflowModel != "":
		return "has an overflow_model of its own, and a request moves once"
	case to.Routed:
		return "has a route, and a request moves once"
	case from.TranslatedShare() < 100 || to.TranslatedShare() < 100:
		return "is for models whose requests are all translated"
	}
	return ""
}
