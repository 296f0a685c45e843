package contract

// The defaults that not only a reader of the filter's JSON takes.
const (
	DefaultContextLength  = 131072
	DefaultBodyLimit      = 16 << 20
	DefaultStallTimeoutMS = 300_000
	DefaultMemoryLimit    = 256 << 20
	DefaultReasoningAlert = 0.9
	DefaultSealLifetimeS  = 30 * 24 * 3600
)

// The largest settings, in bytes and in tokens: what a request may take of a VM's memory. Envoy gives a VM 1 GiB;
// TinyGo doubles its heap or fails, so a heap ends between a half and the whole of that, and garbage needs room in it
// too.
const (
	MaxBodyLimit     = 64 << 20
	MaxContextLength = 4 << 20
	MaxMemoryLimit   = 448 << 20
)

// MaxSealLifetimeS is the longest time that a sealed text opens, in seconds.
const MaxSealLifetimeS = 10 * 365 * 24 * 3600

// MaxChoices is the most choices that OpenAI's API knows.
const MaxChoices = 128

// MinMemoryLimit returns the least memory limit with which a VM can take every request of at most bodyLimit bytes,
// both in bytes: the vocabulary and some streams, the body where it lies, and what reading it may take. A test in
// harmonycore/exchange holds it against the core.
func MinMemoryLimit(bodyLimit int) int {
	const vocabularyAndStreams, perByte, perToolByte, tools, perValue, values = 24 << 20, 4, 10, 2 << 20, 512, 1 << 17
	return vocabularyAndStreams + perByte*bodyLimit + perToolByte*min(bodyLimit, tools) + perValue*min(bodyLimit, values)
}

// The environment variables of the filter, which the proxy hands to it.
const (
	// SealKeysVariable has the keys that reasoning is sealed with, as ID:BASE64,ID:BASE64,… (seal.ParseKeys).
	SealKeysVariable = "HARMONY_SEAL_KEYS"
	// ErrorVariable says, for all configurations of a VM, what becomes of a wrong one where the host has no earlier one
	// that is right: [ErrorRefuse] refuses it, and anything else has it taken for one that answers every request with an
	// error.
	ErrorVariable = "HARMONY_CONFIG_ERROR"
	ErrorRefuse   = "refuse"
)
