package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// attempts are the attempts whose first token is awaited.
type attempts struct {
	vm      *vm
	awaited []*attempt
	log     contract.AttemptLog
}

// isAttempts reports whether the configuration that starts is that of the attempts' filter.
func isAttempts() bool {
	root, err := readProperty("plugin_root_id")
	return err == nil && string(root) == contract.AttemptsRoot
}

// startAttempts begins what needs no configuration. The host starts all filters of attempts as one.
func (p *plugin) startAttempts() types.OnPluginStartStatus {
	if p.attempts == nil {
		p.attempts = &attempts{vm: p.vm}
	}
	check("set tick period", proxywasm.SetTickPeriodMilliSeconds(tickMS))
	return types.OnPluginStartStatusOK
}

func (s *attempts) await(a *attempt) {
	s.awaited = append(s.awaited, a)
	a.at = len(s.awaited)
}

func (s *attempts) forget(a *attempt) {
	n := len(s.awaited)
	if a.at == 0 || a.at > n {
		return
	}
	last := s.awaited[n-1]
	s.awaited[a.at-1], last.at = last, a.at
	s.awaited[n-1], a.at = nil, 0
	s.awaited = s.awaited[:n-1]
}

// connected is a property that the stream has as soon as the host has a connection to the server.
const connected = "upstream\x00local_address"

// tick forgets attempts that have ended, and writes down those on which a server has begun to work, and the silent
// ones. A server that breaks off before the first tick, without headers, is taken for one that has refused the
// connection.
func (s *attempts) tick(at int64) {
	for i := len(s.awaited) - 1; i >= 0; i-- {
		a := s.awaited[i]
		if proxywasm.SetEffectiveContext(a.id) != nil {
			s.forget(a) // the host no longer has it
			continue
		}
		silent := a.SilentMS > 0 && at-a.sent >= int64(a.SilentMS)
		if a.noted && a.silent == silent {
			continue
		}
		if _, err := readProperty(connected); err == nil {
			a.silent = silent
			a.note()
		}
	}
}

// report counts an attempt that has failed before its first token, and logs it.
func (s *attempts) report(a *attempt, server, how string, at int64) {
	s.vm.metrics.AttemptFailed(a.Pool)
	if line := s.log.Line(a.Pool, server, how, at); line != "" {
		proxywasm.LogWarn(line)
	}
}
