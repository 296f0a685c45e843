package contract

// The defaults that other code than the reader of the filter's JSON uses too.
const (
	DefaultContextLength  = 131072
	DefaultBodyLimit      = 16 << 20
	DefaultStallTimeoutMS = 300_000
	DefaultMemoryLimit    = 256 << 20
	DefaultPrefixMemory   = 8 << 20
	DefaultReasoningAlert = 0.9
	DefaultSealLifetimeS  = 30 * 24 * 3600
	DefaultExpectedAnswer = 4096
	// These are the defaults of package harmony. A test in harmonycore/exchange compares them.
	DefaultFallbackMS     = 600
	DefaultFallbackTokens = 32
)

// The greatest values of settings, in bytes and in tokens. They bound the part of a VM's memory that a request may
// take. Envoy gives a VM 1 GiB. TinyGo doubles its heap or fails, so a heap ends between half of that and all of it,
// and garbage needs room too.
const (
	MaxBodyLimit     = 64 << 20
	MaxContextLength = 4 << 20
	MaxMemoryLimit   = 448 << 20
	MaxPrefixMemory  = 64 << 20
	MaxCacheReasons  = 64 << 20
)

// MaxSealLifetimeS is the longest time for which a sealed text can be opened, in seconds.
const MaxSealLifetimeS = 10 * 365 * 24 * 3600

// The greatest values of [ModelSettings.FallbackOnTimeoutMS], in milliseconds, and of
// [ModelSettings.MinTokensBeforeFallback].
const (
	MaxFallbackMS     = 600_000
	MaxFallbackTokens = 4096
)

// MaxChoices is the greatest number of choices in OpenAI's API.
const MaxChoices = 128

// MinMemoryLimit returns the least memory limit with which a VM can take every request of at most bodyLimit bytes, in
// bytes. It adds up the vocabulary and some streams, the body, and the memory for reading it. A test in
// harmonycore/exchange checks it against the core.
func MinMemoryLimit(bodyLimit int) int {
	const vocabularyAndStreams, perByte, perToolByte, tools, perValue, values = 24 << 20, 4, 10, 2 << 20, 512, 1 << 17
	return vocabularyAndStreams + perByte*bodyLimit + perToolByte*min(bodyLimit, tools) + perValue*min(bodyLimit, values)
}

// The environment variables of the filter, which the proxy passes to it.
const (
	// SealKeysVariable holds the keys that seal reasoning, as ID:BASE64,ID:BASE64,… (seal.ParseKeys).
	SealKeysVariable = "HARMONY_SEAL_KEYS"
	// TapKeyVariable holds the key of the tap: what a request shows that is to be tapped, and what the recorder is shown.
	// Without one of at least [MinTapKey] bytes nothing is tapped.
	TapKeyVariable = "HARMONY_TAP_KEY"
	// ErrorVariable determines, for all configurations of a VM, what happens to an invalid one if the host has no earlier
	// valid one. [ErrorRefuse] refuses it. With any other value it is accepted, and answers every request with an error.
	ErrorVariable = "HARMONY_CONFIG_ERROR"
	ErrorRefuse   = "refuse"
)
