package toolserver

import "time"

// Limits are what servers may take. Zeros stand for the defaults.
type Limits struct {
	// Connect is how long a connection and the handshake of MCP may take, and the start of a process. Call is how long a
	// call may take, or a whole listing.
	Connect, Call time.Duration
	// Message is the size of a server's largest message, and of all messages that belong to one answer.
	Message int64
	// Result is the size of a result's text. A longer one is cut.
	Result int64
	// Listing is the size of a server's list of tools, and Tools how many there may be.
	Listing int64
	Tools   int
	// Sessions is how many there are at once. Processes is how many of them are with a process of their own.
	Sessions, Processes int
	// SessionCalls is how many calls of a session run at once. Others wait.
	SessionCalls int
	// Memory is the size of all messages that are received at once. To decode them takes up to ten times that for a
	// moment.
	Memory int64
	// Idle is how long a session is kept without a call. ListingLife is how long a list of tools is kept.
	Idle, ListingLife time.Duration
}

// OrDefaults returns the limits with defaults in place of zeros.
func (l Limits) OrDefaults() Limits {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&l.Connect, 10 * time.Second}, {&l.Call, time.Minute}, {&l.Idle, 5 * time.Minute}, {&l.ListingLife, 5 * time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	for _, n := range []struct {
		value    *int64
		standard int64
	}{
		{&l.Message, 4 << 20}, {&l.Result, 64 << 10}, {&l.Listing, 1 << 20}, {&l.Memory, 32 << 20},
	} {
		if *n.value == 0 {
			*n.value = n.standard
		}
	}
	for _, n := range []struct {
		value    *int
		standard int
	}{
		{&l.Tools, 512}, {&l.Sessions, 256}, {&l.Processes, 32}, {&l.SessionCalls, 8},
	} {
		if *n.value == 0 {
			*n.value = n.standard
		}
	}
	return l
}

// Limits that need no setting.
const (
	// maxErrorBody is how much of an answer with an error status is read.
	maxErrorBody = 64 << 10
	// maxMessage is how much of a server's error message is kept.
	maxMessage = 1 << 10
	// maxPages is how many pages a list of tools may have, and maxCursor how long the name of a page may be.
	maxPages, maxCursor = 32, 1 << 10
	// maxContents is how many contents of a result are read.
	maxContents = 1024
	// maxListings is the size of all lists of tools that are kept.
	maxListings = 64 << 20
	// maxKept is the size of a buffer that is used for the next message too.
	maxKept = 64 << 10
	// maxHandshake is the size of an answer to a handshake. maxAnnotated is how much of lists the SDK keeps for a session,
	// see [conn.leave]. The SDK decodes both into maps, which take up to eighty times the size.
	maxHandshake = 256 << 10
	maxAnnotated = 64 << 10
	// maxAside is how many messages that are no calls are sent at once for a session: cancellations, and answers to what
	// the server asks. asideTime is how long one may take.
	maxAside  = 8
	asideTime = 5 * time.Second
	// drainTime is how long the rest of an answer's stream may take, so that its connection can be used again.
	drainTime = 250 * time.Millisecond
	// sessionLife is how long a session is used. Then it is closed when no call runs.
	sessionLife = time.Hour
	// errorLife is how long it is remembered that a server's tools could not be listed.
	errorLife = 2 * time.Second
	// mannersLife is how long it is remembered how a server is talked to.
	mannersLife = time.Hour
	// closeTime is how long the end of a session may take.
	closeTime = 2 * time.Second
	// exitTime is how long a process may take to end by itself, and then after SIGTERM.
	exitTime = time.Second
	// writeTime is how long a process may take to read a message.
	writeTime = 5 * time.Second
	// maxStderr is how much of a process's stderr is logged.
	maxStderr = 16 << 10
)
