package sim

import (
	"io"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/ollama"
	"github.com/harmonyedge/harmonyedge/sim/openai"
	"github.com/harmonyedge/harmonyedge/sim/server"
	"github.com/harmonyedge/harmonyedge/sim/sglang"
	"github.com/harmonyedge/harmonyedge/sim/trtllm"
	"github.com/harmonyedge/harmonyedge/sim/vllm"
)

// The users of a server need these of package server.
type (
	// Server is the simulated server. [New] makes one.
	Server = server.Server
	// Options are the settings of a [Server].
	Options = server.Options
	// Request records what the server received, and how far it got with the answer.
	Request = server.Request
	// Load holds the values of the load gauges of /metrics.
	Load = server.Load
	// Fault is a failure of an answer, and FaultKind its kind.
	Fault = server.Fault
	// FaultKind is the kind of a [Fault].
	FaultKind = server.FaultKind
	// Script is a list of prepared answers, and Line one of them.
	Script = server.Script
	// Line is one answer of a [Script].
	Line = server.Line
	// EngineRequest is a request to the engine of a [Server] without HTTP.
	EngineRequest = server.EngineRequest
	// EngineAnswer is the answer to an [EngineRequest].
	EngineAnswer = server.EngineAnswer
	// Alternative is a token that could have come at a place of an [EngineAnswer].
	Alternative = server.Alternative
)

// Values of [Options], and their defaults.
const (
	AllTokens              = server.AllTokens
	DefaultModel           = server.DefaultModel
	DefaultMaxModelLen     = server.DefaultMaxModelLen
	DefaultKeep            = server.DefaultKeep
	DefaultTransferTimeout = server.DefaultTransferTimeout
	DefaultChatMarker      = openai.DefaultMarker
	PythonFrontEnd         = server.PythonFrontEnd
	RustFrontEnd           = server.RustFrontEnd
	RolePrefill            = server.RolePrefill
	RoleDecode             = server.RoleDecode
)

// The values of [Options.ChatForm].
const (
	ChatReasoningContent = openai.ChatReasoningContent
	ChatReasoning        = openai.ChatReasoning
	ChatBoth             = openai.ChatBoth
	ChatThink            = openai.ChatThink
	ChatOpened           = openai.ChatOpened
	ChatMarker           = openai.ChatMarker
	ChatHarmony          = openai.ChatHarmony
)

// The versions of the servers whose contracts the kinds follow.
const (
	Version       = vllm.Version
	LegacyVersion = vllm.LegacyVersion
	SGLangVersion = sglang.Version
	TRTLLMVersion = trtllm.Version
	OllamaVersion = ollama.Version
)

// The kinds of faults, and a text about them for a command's help.
const (
	NoFault         = server.NoFault
	FaultStatus     = server.FaultStatus
	FaultDrop       = server.FaultDrop
	FaultMute       = server.FaultMute
	FaultErrorEvent = server.FaultErrorEvent
	FaultClose      = server.FaultClose
	FaultReset      = server.FaultReset
	FaultStall      = server.FaultStall
	FaultError200   = server.FaultError200
	FaultGarbage    = server.FaultGarbage
	FaultNoFinish   = server.FaultNoFinish
	FaultAbort      = server.FaultAbort
	FaultTrailers   = server.FaultTrailers
	FaultHelp       = server.FaultHelp
)

// ChatForms returns the values of [Options.ChatForm], the default first.
func ChatForms() []string { return openai.ChatForms() }

// ParseFault reads the spelling of a fault.
func ParseFault(s string) (Fault, error) { return server.ParseFault(s) }

// NewScript returns a script of these lines.
func NewScript(lines ...Line) *Script { return server.NewScript(lines...) }

// ReadScript reads a script as JSON lines: see [server.ReadScript].
func ReadScript(r io.Reader, t *tokenizer.Tokenizer) (*Script, error) { return server.ReadScript(r, t) }
