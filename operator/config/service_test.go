package config

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestOwnService has the settings of the product's own service: who runs it, and where Envoys find it.
func TestOwnService(t *testing.T) {
	for in, want := range map[string]struct {
		address, listen string
		runs            bool
	}{
		"store: r.db":                                  {"http://127.0.0.1:8090", "127.0.0.1:8090", true},
		"store: r.db, listen: 10.0.0.9:1":              {"http://10.0.0.9:1", "10.0.0.9:1", true},
		"store: r.db, hosted_tools: false":             {"http://127.0.0.1:8090", "127.0.0.1:8090", true},
		"store: postgres://h/d, url: http://replica:9": {"http://replica:9", "127.0.0.1:8090", false},
		"store: postgres://u@h/d, url: http://replica:9, listen: 0.0.0.0:9, gateway: http://edge:8080/, retention: 48h, " +
			"event_retention: 1s, background: 4, max_requests: 100000, max_connections: 8, " +
			"access_log: /dev/stdout, persist: {reasoning: until_final, commentary: drop}": {"http://replica:9", "0.0.0.0:9", false},
		"store: r.db, persist: {reasoning: never, commentary: keep}": {"http://127.0.0.1:8090", "127.0.0.1:8090", true},
		"store: r.db, persist: {reasoning: keep}":                    {"http://127.0.0.1:8090", "127.0.0.1:8090", true},
		"store: r.db, websocket: true":                               {"http://127.0.0.1:8090", "127.0.0.1:8090", true},
		"store: r.db, websocket: false":                              {"http://127.0.0.1:8090", "127.0.0.1:8090", true},
	} {
		c, err := Parse("h.yaml", []byte("responses_service: {"+in+"}\nmodels: [{name: m, servers: ['vllm=http://h:2']}]\n"))
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		s := &c.ResponsesService
		if s.Address() != want.address || s.ListenAddress() != want.listen || s.Runs() != want.runs {
			t.Errorf("%s: Envoys use %s, it listens at %s, runs %t", in, s.Address(), s.ListenAddress(), s.Runs())
		}
		// The filter sends it no request only because of a tool, and connections unless the file says otherwise.
		if got := c.Filter().ResponsesService; got != (contract.ResponsesService{Pool: ResponsesPool, Stores: true,
			WebSocket: !strings.Contains(in, "websocket: false")}) {
			t.Errorf("%s: the filter has %+v", in, got)
		}
	}
}

// TestOwnServiceRefused has settings that are wrong, with the beginning of what is said of each.
func TestOwnServiceRefused(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"url: http://h:1, listen: 127.0.0.1:1", ": has settings of the service that needs a store"},
		{"url: http://h:1, persist: {reasoning: keep}", ": has settings of the service that needs a store"},
		{"store: r.db, hosted_tools: true", ".hosted_tools: is true, and tools says which tools this service runs"},
		{"store: r.db, hosted_tools: false, tools: {allow: [h]}", ".hosted_tools: is false, and tools says"},
		{"url: http://h:1, tools: {allow: [h]}", ": has settings of the service that needs a store"},
		{"store: r.db, stores: false", ": gets no requests"},
		{"store: 'postgres://u:secret@h/d'", ".store: has a password"},
		{"store: r.db, listen: 127.0.0.1:0", ".listen: 127.0.0.1:0 has no fixed port"},
		{"store: r.db, listen: here", `.listen: "here" is not host:port`},
		{"store: r.db, listen: 0.0.0.0:8090", ".listen: 0.0.0.0:8090 is no address that Envoys can connect to"},
		{"store: r.db, listen: '[::]:8090'", ".listen: [::]:8090 is no address that Envoys can connect to"},
		{"store: r.db, gateway: 'h:1'", `.gateway: "h:1" is not the URL of a gateway`},
		{"store: r.db, gateway: 'http://h:1/v1'", `.gateway: "http://h:1/v1" is not the URL of a gateway`},
		{"store: r.db, gateway: 'ftp://h:1'", `.gateway: "ftp://h:1" is not the URL of a gateway`},
		{"store: r.db, retention: 1ms", ".retention: 1ms is out of range"},
		{"store: r.db, retention: -1s", `.retention: "-1s" is not a duration`},
		{"store: r.db, event_retention: 1ms", ".event_retention: 1ms is out of range"},
		{"store: r.db, background: 10001", ".background: 10001 is out of range"},
		{"store: r.db, background: -1", ".background: -1 is out of range"},
		{"store: r.db, max_requests: 100001", ".max_requests: 100001 is out of range"},
		{"store: r.db, max_connections: 1001", ".max_connections: 1001 is out of range"},
		{"store: r.db, persist: {reasoning: drop}", `.persist.reasoning: "drop" is not known`},
		{"store: r.db, persist: {commentary: never}", `.persist.commentary: "never" is not known`},
		{"store: r.db}\nmode: reduced\n#", ": does not work in reduced mode"},
		{"store: r.db, listen: 10.0.0.7:8000", ".url: http://10.0.0.7:8000 is also a server of m"},
	} {
		_, err := Parse("h.yaml", []byte("responses_service: {"+tt.in+"}\n"+
			"models: [{name: m, servers: ['vllm=http://10.0.0.7:8000']}]\n"))
		want := "h.yaml:1: responses_service" + tt.want
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "u:secret") {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.in, err, want)
		}
	}
}

// TestServiceAbsent checks that a file without a service is accepted, since a flag may add one, and that a configuration
// is not.
func TestServiceAbsent(t *testing.T) {
	for _, tt := range []struct{ service, relay, want string }{
		{"responses_service: {listen: '127.0.0.1:1'}", "off", "responses_service: has no url and no store"},
		{"responses_service: {tools: {allow: [h]}}", "off", "responses_service: has no url and no store"},
		{"responses_service: {websocket: false}", "off", "responses_service: has no url and no store"},
		{"responses_service: {persist: {}, tools: {}}", "off", ""},
		{"", "finish", "models[0].relay: needs the responses service"},
		{"", "finish, keep_alive: 15s", "models[0].relay: needs the responses service"},
	} {
		c, err := Parse("h.yaml", []byte(tt.service+"\nmodels: [{name: m, relay: "+tt.relay+
			", servers: ['vllm=http://h:1']}]\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.service, err)
			continue
		}
		if err := c.Validate(); (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.service, err, tt.want)
		}
		c.ResponsesService.Store = "r.db"
		if err := c.Validate(); err != nil {
			t.Errorf("%s, with a store: %v", tt.service, err)
		}
	}
}

// TestKeepAlive checks that a model's time is refused where nothing would keep its streams alive.
func TestKeepAlive(t *testing.T) {
	const own, other = "responses_service: {store: r.db}", "responses_service: {url: 'http://s:1'}"
	for _, tt := range []struct{ service, settings, want string }{
		{own, "relay: finish, keep_alive: 15s", ""},
		{own, "relay: retry, keep_alive: 1h", ""},
		{own, "relay: resume, keep_alive: 15s", ""},
		{own, "relay: resume, repetition_detection: {reasoning: final}", ""},
		{own, "relay: retry, repetition_detection: {reasoning: final}", "final has a server go on with the answer"},
		{own, "repetition_detection: {reasoning: final}", "final has a server go on with the answer"},
		{own, "relay: resume, repetition_detection: {text: final}", `"final" is not known; write off or end`},
		{other, "relay: resume", "relay: resume is for this product's responses service"},
		{own, "relay: resume, servers: ['llamacpp=http://h:1']", "relay: llamacpp servers do not both take and send token ids"},
		{own, "relay: resume, servers: ['chat=http://h:1']", "relay: chat servers do not both take and send token ids"},
		{own, "keep_alive: 15s", "keep_alive: needs relay"},
		{own, "relay: 'off', keep_alive: 15s", "keep_alive: needs relay"},
		{own, "relay: finish, keep_alive: 999ms", "keep_alive: 999ms is out of range; write from 1s to 1h"},
		{own, "relay: finish, keep_alive: 61m", "keep_alive: 1h1m0s is out of range"},
		{own, "relay: finish, keep_alive: 15", `keep_alive: "15" is not a duration`},
		{other, "relay: finish, keep_alive: 15s", "keep_alive: is for this product's responses service"},
		{other, "relay: finish", ""},
	} {
		servers := ", servers: ['vllm=http://h:1']"
		if strings.Contains(tt.settings, "servers") {
			servers = ""
		}
		c, err := Parse("h.yaml", []byte(tt.service+"\nmodels: [{name: m, "+tt.settings+servers+"}]\n"))
		if err == nil {
			err = c.Validate()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s:\ngot  %v\nwant %s", tt.service, tt.settings, err, tt.want)
		}
	}
}
