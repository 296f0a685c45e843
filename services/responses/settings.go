package responses

import (
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
)

// The settings of tools.
type (
	// ToolOptions say which tools the service runs, and within which limits. The zero value: none.
	ToolOptions = hosted.Options
	// ToolServer is a configured MCP server.
	ToolServer = hosted.ToolServer
)

// The settings that can change while a [Service] runs.
type (
	// Settings are all of them. A zero is the default.
	Settings = settings.Settings
	// Keep says which reasoning of stored responses is kept.
	Keep = settings.Keep
)

// DefaultToolTime is how long one response may take with its tools.
const DefaultToolTime = hosted.DefaultTime

// settings returns the settings that are in force.
func (s *Service) settings() *settings.Snapshot { return s.current.Load() }

// Settings returns the settings that are in force, with defaults in place of zeros.
func (s *Service) Settings() settings.Settings { return s.settings().Settings }

// Apply puts settings in force. Requests that have begun keep those that they began with. Connections to servers of tools
// that are no longer the same end when their calls have ended; the others stay.
func (s *Service) Apply(o settings.Settings) {
	s.applying.Lock()
	defer s.applying.Unlock()
	before := s.settings()
	now := settings.New(o, items.Sealer{Keys: s.options.SealKeys, Now: s.now, Log: s.log}, before)
	s.current.Store(now)
	s.memory.Set(now.Memory, now.Apart())
	s.inFlight.Set(int64(now.InFlight), now.Apart())
	s.connected.Set(int64(s.options.sockets(now).Connections), now.Apart())
	s.recent.set(now.BodyLimit, now.Memory)
	s.sockets.SetLimits(s.options.sockets(now))
	s.toolServers.Apply(now.Operator.Terms())
	s.slots.changed()
}
