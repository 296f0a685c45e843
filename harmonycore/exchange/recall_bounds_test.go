package exchange

import (
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestRecallAdmits: a request is refused for the host's memory only if it is without what is remembered, whatever was
// remembered before it, and for as much.
func TestRecallAdmits(t *testing.T) {
	with, without := recallGateway(t, 4<<20, nil), recallGateway(t, 0, nil)
	all := longConversation(12, noReasoning)
	ask := func(g *Gateway, body string, has int) (wanted int, full bool) {
		a := g.Begin("POST", contract.ResponsesPath).Request([]byte(body), Host{Now: testNow, ID: testID,
			Admit: func(bytes int) bool { wanted = bytes; return bytes <= has }})
		return wanted, a.Full
	}
	forwarded(t, with, contract.ResponsesPath, all[11])
	for _, i := range []int{11, 3, 5, 5, 7, 9, 11} {
		body := strings.TrimSuffix(all[i], "]}") + `,{"role":"user","content":"And now?"}]}`
		need, _ := ask(without, body, 1<<30)
		if _, full := ask(with, body, need); full {
			t.Errorf("turn %d is refused for more memory than it needs", i+1)
		}
		if wanted, full := ask(with, body, need-1); !full || wanted != need {
			t.Errorf("turn %d wants %d bytes (refused: %t), and needs %d", i+1, wanted, full, need)
		}
	}
}

// TestRecallScratch: what is read of a large request leaves little memory in use.
func TestRecallScratch(t *testing.T) {
	g := recallGateway(t, 4<<20, func(o *Options) { o.BodyLimit = 32 << 20 })
	var s Scratch
	first := longConversation(1, noReasoning)[0]
	large := strings.Repeat("x ", 6<<20)
	for _, body := range []string{
		first, strings.TrimSuffix(first, "]}") + `,{"role":"user","content":"` + large + `"}]}`,
		strings.TrimSuffix(first, "}") + `,"unknown":"` + large + `"}`,
	} {
		a := g.Begin("POST", contract.ResponsesPath).Request([]byte(body), Host{Now: testNow, ID: testID, Scratch: &s})
		if a.Forward == nil && len(body) < len(large) {
			t.Fatalf("%+v", a.Reply)
		}
		if got := cap(s.rest); got > 4<<20 {
			t.Errorf("a body of %d bytes leaves %d bytes", len(body), got)
		}
	}
}

// TestRecallAtLimits: a conversation that reaches a limit of entries, of values or of bytes is sent, and one that
// exceeds it is refused as it is without a memory.
func TestRecallAtLimits(t *testing.T) {
	change := func(o *Options) { o.Models[0].ContextLength = 200_000 }
	with, without := recallGateway(t, 8<<20, change), recallGateway(t, 0, change)
	const user = `,{"role":"user","content":"U"}`
	begun := `{"model":"` + testModel + `","input":[` + user[1:]
	for _, test := range []struct {
		name string
		most int // may come after the first
		more func(n int) string
	}{
		{"entries", openai.MaxEntries - 1, func(n int) string { return strings.Repeat(user, n) }},
		{"values", openai.MaxValues - 6, func(n int) string {
			return user[:len(user)-1] + `,"x":[0` + strings.Repeat(",0", n-5) + `]}`
		}},
		{"bytes", 1<<20 - len(begun) - len("]}"), func(n int) string { return user + strings.Repeat(" ", n-len(user)) }},
	} {
		p, known := &played{responses: true, model: testModel}, max(test.most/2, test.most-200<<10)
		for _, n := range []int{0, test.most - known - 1, test.most - known, test.most - known + 1} {
			body := begun + test.more(known)
			if n > 0 {
				body += test.more(n)
			}
			want, _ := askRecalling(without, nil, p, body+"]}", testNow, "")
			got, recall := askRecalling(with, nil, p, body+"]}", testNow, "")
			fits := n <= test.most-known
			if !reflect.DeepEqual(got, want) || (want.Status == 0) != fits || n > 0 && fits != (recall == RecallHit) {
				t.Errorf("%s: %d more: %q, %d, %s, want %d, %s", test.name, n, recall, got.Status, got.Reply, want.Status,
					want.Reply)
			}
		}
	}
}
