package anthropic

// The headers that clients send. VersionHeader is with every request of Anthropic's own clients, and with no request of
// OpenAI's. SessionHeader is Claude Code's name of a session, which its subagents have too.
const (
	VersionHeader = "anthropic-version"
	SessionHeader = "x-claude-code-session-id"
)

// The headers of answers. RequestIDHeader has the name of the request. RetryHeader says in words whether a client should
// ask again, whatever the status.
const (
	RequestIDHeader = "request-id"
	RetryHeader     = "x-should-retry"
)
