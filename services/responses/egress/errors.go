package egress

import "fmt"

// BlockedError means that a URL or an address may not be asked. Its text may be shown to the client.
type BlockedError struct {
	// Reason says why. It has no part of the URL but its host and its port, and no address that a name stands for.
	Reason string
}

// Error implements the error interface.
func (e *BlockedError) Error() string { return "blocked: " + e.Reason }

func blocked(format string, values ...any) *BlockedError {
	return &BlockedError{Reason: fmt.Sprintf(format, values...)}
}

// RedirectError means that a server has answered with a redirect. Redirects are never followed: their target has not
// been allowed, and headers with secrets would go there.
type RedirectError struct {
	// Status is the answer's, such as 307.
	Status int
}

// Error implements the error interface.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server answered with a redirect (%d), and redirects are not followed", e.Status)
}

// EncodingError means that a server has sent a compressed answer, which it was not asked for.
type EncodingError struct{}

// Error implements the error interface.
func (*EncodingError) Error() string {
	return "the server sent a compressed answer, which it was not asked for"
}
