package filtertest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestHarmonyMidnight: the prompt has the day of the host's clock when the request came.
func TestHarmonyMidnight(t *testing.T) {
	host := harmony(t, filtertest.StartAt(time.Date(2026, time.January, 2, 23, 59, 59, 0, time.UTC)))
	day := func() string {
		var body struct{ Prompt []uint32 }
		if err := json.Unmarshal([]byte(ask(host).Server().Body()), &body); err != nil {
			t.Fatal(err)
		}
		_, date, _ := strings.Cut(o200k.Tokenizer().DecodeString(body.Prompt), "Current date: ")
		date, _, _ = strings.Cut(date, "\n")
		return date
	}
	before := day()
	host.Advance(time.Second)
	if after := day(); before != "2026-01-02" || after != "2026-01-03" {
		t.Errorf("%s, and a second later %s", before, after)
	}
}
