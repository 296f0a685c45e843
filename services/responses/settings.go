package responses

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/responses/egress"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
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

// The settings of tools.
type (
	// ToolOptions say which tools the service runs, and within which limits. The zero value: none.
	ToolOptions = hosted.Options
	// ToolServer is a configured MCP server.
	ToolServer = hosted.ToolServer
)

// DefaultToolTime is how long one response may take with its tools.
const DefaultToolTime = hosted.DefaultTime

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

// Settings are what can change while a [Service] runs. A zero is the default.
type Settings struct {
	// Gateway is the URL at which the models are asked, without a path.
	Gateway string
	// Models are the gateway's. The service finds one by any name or alias of it, as the gateway does. It reads whether a
	// model's clients see its reasoning, whether an answer that is lost before its client has seen any of it is asked for
	// once more, and whether conversations may hold the ids of their tokens.
	Models []contract.Model
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
	// Memory is what requests may take together, in bytes. Others are answered 503.
	Memory int64
	// InFlight is how many requests are handled at once. Others are answered 503.
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

// apart reports whether tenants are told apart.
func (s *Settings) apart() bool { return s.TenantHeader != "" || s.Clients }

// snapshot are the settings that a request has from its beginning to its end.
type snapshot struct {
	Settings
	names contract.Names
	// tools are what the operator lets requests run.
	tools  hosted.Operator
	sealer items.Sealer
}

// model returns the model that clients call by a name. It is the zero value for one that is not the gateway's.
func (s *snapshot) model(name string) (m contract.Model) {
	if at := s.names.Find(name); at >= 0 {
		m = s.Models[at]
	}
	return m
}

// settings returns the settings that are in force.
func (s *Service) settings() *snapshot { return s.current.Load() }

// Settings returns the settings that are in force, with defaults in place of zeros.
func (s *Service) Settings() Settings { return s.settings().Settings }

// Apply puts settings in force. Requests that have begun keep those that they began with. Connections to servers of tools
// that are no longer the same end when their calls have ended; the others stay.
func (s *Service) Apply(o Settings) {
	s.applying.Lock()
	defer s.applying.Unlock()
	before := s.settings()
	now := s.snapshotOf(o, before)
	s.current.Store(now)
	s.memory.Set(now.Memory, now.apart())
	s.inFlight.Set(int64(now.InFlight), now.apart())
	s.connected.Set(int64(s.options.sockets(now).Connections), now.apart())
	s.recent.set(now.BodyLimit, now.Memory)
	s.sockets.SetLimits(s.options.sockets(now))
	s.toolServers.Apply(now.tools.Terms())
	s.slots.changed()
}

// snapshotOf returns the snapshot of settings that follow others, or nil.
func (s *Service) snapshotOf(o Settings, before *snapshot) *snapshot {
	now := &snapshot{Settings: o.orDefaults()}
	now.Gateway = strings.TrimSuffix(o.Gateway, "/")
	named := make([]contract.Named, len(o.Models))
	for i := range o.Models {
		named[i] = contract.Named{Name: o.Models[i].Name, Aliases: o.Models[i].Aliases}
	}
	now.names = contract.NewNames(named)
	now.sealer = items.Sealer{Keys: s.options.SealKeys, Lifetime: now.SealLifetime, Now: s.now, Log: s.log}
	if before != nil && slices.Equal(before.Tools.Allow, now.Tools.Allow) {
		now.tools.Guard = before.tools.Guard // connections to servers of requests stay
	} else {
		now.tools.Guard = s.guardOf(now.Tools.Allow)
	}
	if before == nil || !reflect.DeepEqual(before.Tools, now.Tools) {
		now.Tools.Warn(s.log)
	}
	now.tools.Options = now.Tools
	return now
}

// guardOf returns what knows the servers that requests may name.
func (s *Service) guardOf(allow []string) *egress.Guard {
	guard, err := egress.NewGuard(allow)
	if err != nil { // the configuration has been checked
		s.log.Error("requests can name no servers of tools", "error", err)
		guard, _ = egress.NewGuard(nil)
	}
	return guard
}
