package settings

import (
	"cmp"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
)

// The defaults of [Settings].
const (
	// DefaultRetention is how long OpenAI keeps responses.
	DefaultRetention = 30 * 24 * time.Hour
	// DefaultEventRetention is how long a stream can be resumed after its response was created.
	DefaultEventRetention = time.Hour
	// DefaultBackground is how many responses a replica makes in the background at once.
	DefaultBackground = 16
	// DefaultBodyLimit is the largest request body, and the largest stored conversation, in bytes.
	DefaultBodyLimit = 4 << 20
	// DefaultMemory is what requests may take together, in bytes.
	DefaultMemory = 1 << 30
	// DefaultInFlight is how many requests a replica handles at once. Each may hold a few bodies.
	DefaultInFlight = 512
)

// Keep says which reasoning of stored responses is kept.
type Keep string

// The values of [Keep].
const (
	// KeepAll keeps it.
	KeepAll Keep = "keep"
	// KeepUntilFinal removes it once an answer on the final channel has followed.
	KeepUntilFinal Keep = "until_final"
	// KeepNone does not store it.
	KeepNone Keep = "never"
)

// Settings are what can change while the service runs, which keeps what they hold. A zero is the default.
type Settings struct {
	// Gateway is the URL at which the models are asked, without a path.
	Gateway string
	// Models are the gateway's. The service finds one by any name or alias of it, as the gateway does. It reads whether a
	// model's clients see its reasoning, whether an answer that is lost before its client has seen any of it is asked for
	// once more, and whether conversations may hold the ids of their tokens.
	Models []contract.Model
	// KeepAlive is how long a stream of a model may be quiet before its client gets a sign of life, by the model's name. A
	// model that is not there has no such time.
	KeepAlive map[string]time.Duration
	// Retention is how long responses are kept, and EventRetention how long the events of streams in the background are.
	Retention, EventRetention time.Duration
	// Reasoning says which reasoning is kept. Empty is [KeepAll].
	Reasoning Keep
	// DropCommentary reports whether what a model says before a call is not stored.
	DropCommentary bool
	// TenantHeader is the header whose value names the tenant. Empty: there is one tenant.
	TenantHeader string
	// Clients reports whether the gateway tells clients apart. The tenant is then the client, beside TenantHeader.
	// ClientHeader is the header in which the gateway expects a client's name, if it checks no keys.
	Clients      bool
	ClientHeader string
	// SealLifetime is how long sealed reasoning can be opened.
	SealLifetime time.Duration
	// BodyLimit is the largest request body, and the largest stored conversation that a response can continue, in bytes.
	BodyLimit int64
	// Background is how many responses are made in the background at once.
	Background int
	// Memory is what requests may take together, in bytes. Others are answered 429.
	Memory int64
	// InFlight is how many requests are handled at once. Others are answered 429.
	InFlight int
	// WebSocket reports whether connections are served.
	WebSocket bool
	// Origins are the origins of other hosts whose pages may open connections. Browsers send the origin of a page.
	Origins []string
	Tools   hosted.Options
}

func (s Settings) orDefaults() Settings {
	s.Retention = cmp.Or(s.Retention, DefaultRetention)
	s.EventRetention = cmp.Or(s.EventRetention, DefaultEventRetention)
	s.SealLifetime = cmp.Or(s.SealLifetime, time.Duration(contract.DefaultSealLifetimeS)*time.Second)
	s.BodyLimit = cmp.Or(s.BodyLimit, DefaultBodyLimit)
	s.Memory = cmp.Or(s.Memory, DefaultMemory)
	s.Background = cmp.Or(s.Background, DefaultBackground)
	s.InFlight = cmp.Or(s.InFlight, DefaultInFlight)
	s.Tools = s.Tools.OrDefaults()
	return s
}

// Apart reports whether tenants are told apart.
func (s *Settings) Apart() bool { return s.TenantHeader != "" || s.Clients }
