//go:build e2e

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The tests read these of answers.
type (
	gateway  = service.Gateway
	response = service.Response
	item     = service.Item
	list     = service.List
)

// tenantHeader names the tenant in requests.
const tenantHeader = "x-tenant"

// configuration is what of the configuration's file the tests set.
type configuration struct {
	// servers are the MCP servers, each as YAML. settings are further lines of the section tools, and section lines of the
	// responses service's.
	servers, settings, section []string
	// environment is added to the test's, in place of a key of the store.
	environment, arguments []string
	// script holds the model's answers.
	script []sim.Line
	// holdAfter makes the model wait after so many tokens.
	holdAfter int
	// database is the store's. Without it, the store is a file of its own.
	database string
}

// start runs harmony up with these tools.
func start(t *testing.T, host string, c configuration) *gateway {
	t.Helper()
	var settings strings.Builder
	for _, line := range c.section {
		settings.WriteString("  " + line + "\n")
	}
	settings.WriteString("  tools:\n")
	if len(c.servers) > 0 {
		settings.WriteString("    servers:\n")
	}
	for _, server := range c.servers {
		settings.WriteString("      - {" + server + "}\n")
	}
	for _, line := range c.settings {
		settings.WriteString("    " + line + "\n")
	}
	return service.Start(t, service.Options{Host: host, Database: c.database, Settings: settings.String(),
		Environment: c.environment, Arguments: c.arguments, Configuration: "seal: { tenant_header: " + tenantHeader + " }",
		ModelSettings: []string{"system: { date: " + lab.Date + " }"},
		Sim:           sim.Options{Keep: 10_000, Script: sim.NewScript(c.script...), HoldAfter: c.holdAfter}})
}

// at is a configured server that is reached by HTTP, as YAML. more are further settings of it.
func at(label, url string, more ...string) string {
	return strings.Join(append([]string{"label: " + label, fmt.Sprintf("url: %q", url)}, more...), ", ")
}

// onHosts runs a test on each host.
func onHosts(t *testing.T, test func(t *testing.T, host string)) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) { test(t, host) })
	}
}

// mcp is the tool of a request that stands for a server of the configuration, whose calls need no approval. more are
// further members.
func mcp(label string, more ...string) string {
	return approving(label, append([]string{`"require_approval":"never"`}, more...)...)
}

// approving is the tool of a request whose calls need an approval, which is the default.
func approving(label string, more ...string) string {
	return `{` + strings.Join(append([]string{`"type":"mcp"`, `"server_label":"` + label + `"`}, more...), ",") + `}`
}

// ask are the members of a request with tools, whose input is a question.
func ask(question string, tools ...string) string {
	return `"input":` + lab.Quote(question) + `,` + with(tools...)
}

// with are the members of a request for its tools.
func with(tools ...string) string { return `"tools":[` + strings.Join(tools, ",") + `]` }

// after is the member of a request that continues a response.
func after(r *response) string { return `"previous_response_id":"` + r.ID + `",` }

// The answers of the model, as Harmony text.
func says(text string) string { return "<|channel|>final<|message|>" + text + "<|return|>" }

func calls(name, arguments string) string {
	return "<|channel|>analysis<|message|>I call " + name + ".<|end|><|start|>assistant" + call(name, arguments)
}

// call is a call without reasoning before it. Another one can follow it in the same answer.
func call(name, arguments string) string {
	return "<|channel|>commentary to=functions." + name + " <|constrain|>json<|message|>" + arguments + "<|call|>"
}

// both is an answer with two calls.
func both(one, other string) string {
	return strings.TrimSuffix(one, "<|call|>") + "<|start|>assistant" + other
}

// asked is the model's answer to a user's question, which is the last message.
func asked(question, answer string) sim.Line {
	return sim.Line{Last: "<|start|>user<|message|>" + question + "<|end|>", Tokens: lab.Tokens(answer)}
}

// told is its answer to a tool's result with this text, which is the last message.
func told(result, answer string) sim.Line {
	return sim.Line{Match: "to=assistant", Last: result, Tokens: lab.Tokens(answer)}
}

// output is the output of a call, or what is there in place of a text.
func output(i item) string {
	var text string
	if json.Unmarshal(i.Output, &text) != nil {
		return "not a text: " + string(i.Output)
	}
	return text
}

// errorOf is the type of a call's error, and what it says.
func errorOf(i item) (kind, whole string) {
	var e struct{ Type string }
	_ = json.Unmarshal(i.Error, &e) // what is none has no type
	return e.Type, string(i.Error)
}

// header is one header.
func header(name, value string) http.Header {
	return http.Header{http.CanonicalHeaderKey(name): {value}}
}

// relay passes the connections of a listener on to an address until the test ends.
func relay(t *testing.T, l net.Listener, to string) {
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				other, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer other.Close()
				go func() { _, _ = io.Copy(other, from); other.Close() }()
				_, _ = io.Copy(from, other)
			}()
		}
	}()
}

// answer makes a tool's result: a text.
type answer func(ctx context.Context, arguments string) (string, error)

// tool is a tool that takes any arguments.
func tool(name string, a answer) toolservers.Tool {
	return toolservers.Texts(name, func(ctx context.Context, arguments json.RawMessage) (string, error) {
		return a(ctx, string(arguments))
	})
}

// failing is an answer that is an error.
func failing(text string) answer {
	return func(context.Context, string) (string, error) { return "", toolservers.Failure(text) }
}

// answering is an answer that is always the same.
func answering(text string) answer {
	return func(context.Context, string) (string, error) { return text, nil }
}

// origin is the scheme, host and port of a server.
func origin(s *toolservers.Server) string { return strings.TrimSuffix(s.Streamable(), "/mcp") }
