package config

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// checkTranslate checks that requests that are not translated have somewhere to go.
func (c *Config) checkTranslate(i int, p *problems) {
	m, fail := &c.Models[i], p.under(modelPath(i))
	if reason := contract.CannotPass(&m.ModelSettings, contract.KindNamed(c.kind(m)), c.Mode); reason != "" {
		fail("translate", "%s", reason)
	}
	if m.Observes() && m.Relay != contract.RelayOff {
		fail("relay", "is for answers that are translated, and with translate: observe none is; leave one of them out")
	}
	if kind := contract.KindNamed(c.kind(m)); m.Relay == contract.RelayResume && kind != nil &&
		(kind.TextAnswers || kind.TextPrompts) {
		fail("relay", "%s servers do not both take and send token ids, and another server can finish an answer only by its "+
			"ids; write relay: retry", kind.Name)
	}
	if m.Relay == contract.RelayResume && c.ResponsesService.Address() != "" && c.ResponsesService.Store == "" {
		fail("relay", "%s is for this product's responses service, and responses_service has no store; write relay: retry",
			m.Relay)
	}
	if m.Repetition.Reasoning == contract.RepetitionFinal && m.Relay != contract.RelayResume {
		fail("repetition_detection.reasoning", "final has a server go on with the answer, which needs relay: resume; write "+
			"that too, or end")
	}
	if m.KeepAlive != 0 && m.Relay == contract.RelayOff {
		fail("keep_alive", "needs relay: without it no stream passes the service that keeps it alive; write relay: finish "+
			"or retry, or leave keep_alive out")
	}
}
