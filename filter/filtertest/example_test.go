package filtertest_test

import (
	"fmt"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// exampleT takes the place of a test's [testing.T], which an example does not have.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (*exampleT) Helper()                           {}
func (*exampleT) Failed() bool                      { return false }
func (t *exampleT) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }
func (*exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (t *exampleT) end() {
	for _, f := range t.cleanups {
		f()
	}
}

// greeter is the module of a filter that adds its configuration to every response as the header x-greeting.
const greeter = "../wasmhost/testdata/greeter.wasm"

// The test plays the client and the server, and prints what each of them has received.
func Example() {
	t := &exampleT{} // a test passes its own t
	defer t.end()
	host := filtertest.New(t, greeter, "hello")
	x := host.Request("POST", "/v1/things", `{"a":1}`, "content-type", "application/json")
	fmt.Println(x.Server())
	x.Respond(200, "done")
	fmt.Println(x.Client())
	// Output:
	// server: POST /v1/things | content-type: application/json | x-forwarded-proto: http | x-request-id: 00000000-0000-4000-8000-000000000001 | content-length: 7 | "{\"a\":1}" | complete
	// 200 | content-length: 4 | x-greeting: hello | "done" | complete
}

// A filter must behave the same wherever the network cuts a body.
func ExampleCuts() {
	t := &exampleT{}
	defer t.end()
	host := filtertest.New(t, greeter, "hello")
	ways := 0
	for pieces := range filtertest.Cuts("answer") {
		x := host.Request("GET", "/", "")
		x.BeginResponse(200)
		x.SendResponse(pieces...)
		x.EndResponse()
		if x.Client().Body() == "answer" {
			ways++
		}
	}
	fmt.Println(ways, "ways to cut it, and the same body each time")
	// Output:
	// 7 ways to cut it, and the same body each time
}
