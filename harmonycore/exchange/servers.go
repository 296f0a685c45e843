package exchange

// servers is how a model's servers are asked. There is one type for servers that take prompts, which the gateway
// renders, and one for servers that take conversations. [New] chooses it for each model.
type servers interface {
	// generate sends a request for an answer.
	generate(g *generation, a *modelRequest, body []byte, h Host) RequestAction
	// count answers a request for tokens, or sends it on.
	count(c *tokenCount, a *modelRequest, body []byte, h Host) RequestAction
	// countPath returns the path of the servers to which the headers of a request for tokens are sent, if they are sent
	// before the body is read. path is the one that answers such requests.
	countPath(m *Model, path string) string
}

// promptServers take prompts. The gateway knows their tokens.
type promptServers struct{}

func (promptServers) generate(g *generation, a *modelRequest, body []byte, h Host) RequestAction {
	a.recall = g.forgotten(a, body, h)
	return g.send(a, a.keep(body, h.scratch()), h)
}

func (promptServers) count(c *tokenCount, a *modelRequest, _ []byte, h Host) RequestAction {
	return c.answer(a, h)
}

func (promptServers) countPath(m *Model, _ string) string { return m.Kind.Facts().Path }

// conversationServers take conversations. They know their template and their tokens, and the gateway does not.
type conversationServers struct{}

func (conversationServers) generate(g *generation, a *modelRequest, body []byte, h Host) RequestAction {
	return conversation{g}.send(a, body, h)
}

func (conversationServers) count(c *tokenCount, a *modelRequest, body []byte, h Host) RequestAction {
	return c.askServers(a, body, h)
}

func (conversationServers) countPath(_ *Model, path string) string { return path }
