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
	// sweptAt is when awaited was last searched for attempts that have ended, in milliseconds since 1970.
	sweptAt int64
}

// isAttempts reports whether the configuration that starts is the attempts' filter's.
func isAttempts() bool {
	root, err := readProperty("plugin_root_id")
	return err == nil && string(root) == contract.AttemptsRoot
}

// startAttempts begins what needs no configuration. The host starts all filters of attempts as one.
func (p *plugin) startAttempts() types.OnPluginStartStatus {
	if p.attempts == nil {
		p.attempts = &attempts{vm: p.vm}
	}
	check("set tick period", proxywasm.SetTickPeriodMilliSeconds(attemptTickMS))
	return types.OnPluginStartStatusOK
}

// attemptTickMS is the interval, in milliseconds, at which the host is asked for new connections. The first attempt of
// a request is not known to be at its server until then, and a further one is not sent.
const attemptTickMS = 50

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

// tick writes down attempts whose servers have the request now, and the silent ones. It forgets those that have ended.
func (s *attempts) tick(at int64) {
	sweeps := at-s.sweptAt >= tickMS
	if sweeps {
		s.sweptAt = at
	}
	for i := len(s.awaited) - 1; i >= 0; i-- {
		a := s.awaited[i]
		silent := a.SilentMS > 0 && at-a.sent >= int64(a.SilentMS)
		changed := !a.noted || a.silent != silent
		if !changed && !sweeps {
			continue
		}
		if proxywasm.SetEffectiveContext(a.id) != nil {
			s.forget(a) // the host no longer has it
			continue
		}
		if !changed || !a.connected() {
			continue
		}
		a.silent = silent
		a.note()
		if a.waits {
			a.waits = false
			check("send request", proxywasm.ResumeHttpRequest())
		}
	}
}

// report counts an attempt that has failed before its first token, and logs it.
func (s *attempts) report(a *attempt, server, how string, at int64) {
	s.vm.metrics.AttemptFailed(a.Pool)
	s.vm.logFailure(a.Pool, server, how, at)
}

func (v *vm) logFailure(pool, server, how string, at int64) {
	if line := v.failures.Line(pool, server, how, at); line != "" {
		proxywasm.LogWarn(line)
	}
}
