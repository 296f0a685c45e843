package ads

import (
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// extensionResources returns the resources of a test with an extension.
func extensionResources(t *testing.T, content string) Resources {
	r := testResources(t, 1, "a")
	r[resource.ExtensionConfigType] = append(r[resource.ExtensionConfigType], extensionWith(t, content))
	return r
}

// TestTurns checks that an Envoy waits for its turn while as many as are allowed have not answered. A turn ends with an
// answer, accepting or refusing, and with the connection.
func TestTurns(t *testing.T) {
	for name, end := range map[string]func(first *client){
		"accepted": func(first *client) { first.ack(first.receive(resource.ExtensionConfigType)) },
		"refused":  func(first *client) { first.nack(first.receive(resource.ExtensionConfigType), "no") },
		"gone":     func(first *client) { first.close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Turns: 1})
			set(t, s, extensionResources(t, "one"))
			address := serve(t, s)
			first, second := connect(t, address, "first"), connect(t, address, "second")
			first.subscribe(resource.ExtensionConfigType, "filter")
			eventually(t, s, "the first has its turn", func(all []Envoy) bool { return len(all) == 1 })
			second.subscribe(resource.ExtensionConfigType, "filter")
			second.expectNothing()
			end(first)
			second.expectAndAck(resource.ExtensionConfigType, "filter")
		})
	}
}

// TestTurnOfOneThatHangs checks that an Envoy that does not answer keeps the others waiting for turnLimit alone.
func TestTurnOfOneThatHangs(t *testing.T) {
	s := New(Options{Turns: 1})
	set(t, s, extensionResources(t, "one"))
	address := serve(t, s)
	hangs, waits := connect(t, address, "hangs"), connect(t, address, "waits")
	hangs.subscribe(resource.ExtensionConfigType, "filter")
	r := hangs.receive(resource.ExtensionConfigType)
	waits.subscribe(resource.ExtensionConfigType, "filter")
	began := time.Now()
	waits.expectAndAck(resource.ExtensionConfigType, "filter")
	if waited := time.Since(began); waited > 2*turnLimit {
		t.Errorf("it waited for %s", waited)
	}
	hangs.ack(r) // its turn is over already
	eventually(t, s, "both hold it", func(all []Envoy) bool {
		return len(all) == 2 && all[0].Types["extensions"].Current && all[1].Types["extensions"].Current
	})
}
