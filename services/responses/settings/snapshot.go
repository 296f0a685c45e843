package settings

import (
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/responses/egress"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// Snapshot are the settings that a request has from its beginning to its end.
type Snapshot struct {
	Settings
	names contract.Names
	// Operator are what the operator lets requests run.
	Operator hosted.Operator
	Sealer   items.Sealer
}

// Model returns the model that clients call by a name. It is the zero value for one that is not the gateway's.
func (s *Snapshot) Model(name string) (m contract.Model) {
	if at := s.names.Find(name); at >= 0 {
		m = s.Models[at]
	}
	return m
}

// KeepAliveOf returns how long a stream of the model that clients call by a name may be quiet, or 0.
func (s *Snapshot) KeepAliveOf(name string) time.Duration {
	if len(s.KeepAlive) == 0 {
		return 0
	}
	return s.KeepAlive[s.Model(name).Name]
}

// Adopt makes what the service asks the gateway, also later, the client's whose request it is. It returns the client's
// name, or empty where clients are not told apart.
func (s *Snapshot) Adopt(headers http.Header) string {
	headers.Del(contract.BehalfHeader)
	if !s.Clients {
		return ""
	}
	name := headers.Get(contract.ClientHeader)
	if name == contract.AnonymousClient {
		return ""
	}
	if s.ClientHeader != "" {
		headers.Set(s.ClientHeader, name)
	} else if name != "" {
		headers.Set(contract.BehalfHeader, name)
	}
	return name
}

// New returns a snapshot of settings that follow others, or nil.
func New(o Settings, sealer items.Sealer, before *Snapshot) *Snapshot {
	now := &Snapshot{Settings: o.orDefaults(), Sealer: sealer}
	now.Gateway = strings.TrimSuffix(o.Gateway, "/")
	named := make([]contract.Named, len(o.Models))
	for i := range o.Models {
		named[i] = contract.Named{Name: o.Models[i].Name, Aliases: o.Models[i].Aliases}
	}
	now.names = contract.NewNames(named)
	now.Sealer.Lifetime = now.SealLifetime
	if before != nil && slices.Equal(before.Tools.Allow, now.Tools.Allow) {
		now.Operator.Guard = before.Operator.Guard // connections to servers of requests stay
	} else {
		now.Operator.Guard = guardOf(now.Tools.Allow, sealer.Log)
	}
	if before == nil || !reflect.DeepEqual(before.Tools, now.Tools) {
		now.Tools.Warn(sealer.Log)
	}
	now.Operator.Options = now.Tools
	return now
}

// guardOf returns what knows the servers that requests may name.
func guardOf(allow []string, log *slog.Logger) *egress.Guard {
	guard, err := egress.NewGuard(allow)
	if err != nil { // the configuration has been checked
		log.Error("requests can name no servers of tools", "error", err)
		guard, _ = egress.NewGuard(nil)
	}
	return guard
}
