//go:build !tinygo

package exchange

// Not under TinyGo: the garbage would make its heap large for every test that follows.

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"strconv"
	"strings"
	"testing"
)

// TestObservedBounds checks that an observer keeps little of an answer, however it comes.
func TestObservedBounds(t *testing.T) {
	g := untranslating("observe", nil)
	x := g.Begin("POST", "/v1/chat/completions")
	x.Request([]byte(observedChat), Host{Now: testNow, ID: testID})
	x.ResponseHeaders(eventStream)
	o := x.observer
	large := strings.Repeat("<", 1<<20)
	for range 8 {
		x.ResponseBody([]byte(chunks("", content(large), `"reasoning":"`+large+`"`,
			`"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"`+large+`"}}]`)), false)
	}
	x.ResponseBody([]byte(chunks("", content("x"), `"reasoning":"x"`)), false)
	kept := cap(o.copied)
	for _, c := range o.choices {
		kept += cap(c.textTail) + cap(c.reasoningTail)
	}
	if kept > 4*maxKeptCopy {
		t.Errorf("%d bytes are kept", kept)
	}
	for i := range 1000 {
		x.ResponseBody([]byte(strings.Replace(chunks("", content("x")), `"index":0`, `"index":`+strconv.Itoa(i), 1)), false)
	}
	if len(o.choices) > contract.MaxChoices {
		t.Errorf("%d choices", len(o.choices))
	}
}
