package contract

// Tap determines where the filter sends what it sees of tapped requests. With the zero value nothing is ever tapped, and
// neither is without a key: see [TapKeyVariable].
type Tap struct {
	// Cluster is the proxy's name of the recorder's cluster.
	Cluster string
	// All is what is tapped of requests that do not ask for it: [TapNone], [TapSummary] or [TapEverything].
	All string
}

// The values of [Tap.All]. [TapSummary] is that a request has begun, and how it has ended, without any of its text.
const (
	TapNone       = "none"
	TapSummary    = "summary"
	TapEverything = "everything"
)

// TapCluster is the name of the recorder's cluster where the control plane configures the proxy.
const TapCluster = "harmony-tap"

// MinTapKey is the least length of a key, in bytes. A shorter one could be guessed, and counts as none.
const MinTapKey = 16

// Fields returns the settings of the block.
func (t *Tap) Fields() []Field {
	return []Field{
		text("cluster", &t.Cluster, "").required(),
		word("all", &t.All, TapNone, TapNone, TapSummary, TapEverything),
	}
}
