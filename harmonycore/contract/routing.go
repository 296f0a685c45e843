package contract

// Routing determines what the filter tells the proxy about a request to a model, so that the proxy can choose a server
// by it. With the zero value it tells nothing.
type Routing struct {
	// Affinity reports whether requests have an [AffinityHeader].
	Affinity bool
	// SessionHeader is the name, in lower case, of the header whose value comes before everything else in the affinity of
	// a request. Empty: none.
	SessionHeader string
	// BlockSize is the number of tokens in a block of a prompt. 0 is [DefaultBlockSize].
	BlockSize int
	// Blocks is how many blocks of a prompt's beginning count for its affinity. 0 is [DefaultBlocks].
	Blocks int
	// BlockHashes is how many of a prompt's first blocks [BlocksHeader] names. 0 leaves the header out.
	BlockHashes int
	// Destination reports whether the [DestinationHeader] of a request is kept: whoever is in front of the proxy sets it,
	// and removes it from clients' requests.
	Destination bool
	// QueueMS is how many milliseconds a request may wait before the proxy sends it to a server. Requests then have a
	// [CostHeader]. 0: they do not wait.
	QueueMS int
	// UntilFirstToken reports whether the proxy holds an answer until its first token, and asks another server if the
	// answer fails before it ([AttemptState]).
	UntilFirstToken bool
}

// The defaults and the ranges of [Routing]. The block's size is the same as in vLLM's cache.
const (
	DefaultBlockSize = 16
	MaxBlockSize     = 1024
	DefaultBlocks    = 64
	MaxBlocks        = 1 << 16
	// MaxBlockHashes keeps [BlocksHeader] below 35 kB.
	MaxBlockHashes = 2048
	// MaxQueueMS is as long as Envoy waits for a picker: an hour.
	MaxQueueMS = 3_600_000
)

// Fields returns the settings of the block.
func (r *Routing) Fields() []Field {
	session := text("session_header", &r.SessionHeader, "")
	session.Valid, session.Must = isLower, "must be in lower case"
	return []Field{
		flag("affinity", &r.Affinity, false),
		session,
		number("block_size", &r.BlockSize, 0, 0, MaxBlockSize),
		number("blocks", &r.Blocks, 0, 0, MaxBlocks),
		number("block_hashes", &r.BlockHashes, 0, 0, MaxBlockHashes),
		flag("destination", &r.Destination, false),
		number("queue_ms", &r.QueueMS, 0, 0, MaxQueueMS),
		flag("until_first_token", &r.UntilFirstToken, false),
	}
}
