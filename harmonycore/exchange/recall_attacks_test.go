package exchange

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRecallToTheLastByte: a conversation that differs from a remembered one in one byte, or is a byte longer or
// shorter, is sent as without a memory, wherever that is.
func TestRecallToTheLastByte(t *testing.T) {
	with, without := recallGateway(t, 1<<20, nil), recallGateway(t, 0, nil)
	var scratches [2]Scratch
	p := &played{responses: true, model: testModel}
	all := longConversation(6, noReasoning)
	whole := strings.Replace(all[5], "What is it? ", "", 350)
	hits := 0
	same := func(body string) {
		t.Helper()
		want, _ := askRecalling(without, &scratches[0], p, body, testNow, "")
		got, recall := askRecalling(with, &scratches[1], p, body, testNow, "")
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %s\n%s", recall, body, difference(got, want))
		}
		if recall == RecallHit {
			hits++
		}
	}
	same(whole)
	for at := range whole {
		same(whole[:at] + string(whole[at]^1) + whole[at+1:])
		same(whole[:at] + []string{"}" + whole[at+1:], whole[at+1:], " " + whole[at:]}[at%3])
	}
	if hits < len(whole)*3/4 {
		t.Errorf("%d of %d requests were recalled", hits, 2*len(whole))
	}
}

// TestRecallReadsLittleTwice: a request of which much is new is read as a whole at once. It would be read twice if
// anything were in doubt at its end.
func TestRecallReadsLittleTwice(t *testing.T) {
	g := recallGateway(t, 4<<20, func(o *Options) { o.Models[0].ContextLength = 1 << 20 })
	begun := strings.TrimSuffix(longConversation(3, noReasoning)[2], "]}")
	p := &played{responses: true, model: testModel}
	for _, test := range []struct {
		more int
		want string
	}{{0, RecallMiss}, {200 << 10, RecallHit}, {256 << 10, RecallMiss}, {900 << 10, RecallMiss}} {
		body := begun + `,{"role":"user","content":"` + strings.Repeat("New ", test.more/4) + `"}]}`
		if got, recall := askRecalling(g, nil, p, body, testNow, ""); got.Status != 0 || recall != test.want {
			t.Errorf("%d bytes are new: %d, %q, want %q", test.more, got.Status, recall, test.want)
		}
	}
}

// TestRecallFlood: however many conversations come, of however many clients, the memory stays within its size, the heap
// does not grow, and a client that goes on is recalled. HARMONY_CONVERSATIONS is how many come, if not a few.
func TestRecallFlood(t *testing.T) {
	const limit = 1 << 20
	conversations := 10_000
	if n, err := strconv.Atoi(os.Getenv("HARMONY_CONVERSATIONS")); err == nil {
		conversations = n
	}
	g := recallGateway(t, limit, nil)
	scratch := &Scratch{}
	ask := func(key, body string) string {
		x := g.Begin("POST", contract.ChatPath)
		x.Header("authorization", "Bearer "+key)
		if a := x.Request([]byte(body), Host{Now: testNow, ID: testID, Scratch: scratch}); a.Forward == nil {
			t.Fatalf("%s: %+v", body, a.Reply)
		}
		return x.Report().Recall
	}
	heap := func() int {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int(s.HeapAlloc)
	}
	mine := `{"model":"` + testModel + `","messages":[{"role":"user","content":"Mine"},{"role":"user","content":"?"}]}`
	before, after := 0, conversations/5
	for i := range conversations {
		body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Flood %d"},{"role":"user","content":"?"}]}`,
			testModel, i)
		if recall := ask(strconv.Itoa(i%777), body); recall == "" {
			t.Fatalf("conversation %d is not remembered", i)
		}
		if i%20 == 0 {
			if recall := ask("mine", mine); i > 0 && recall != RecallHit {
				t.Fatalf("after %d others: %s", i, recall)
			}
		}
		if used := g.options.Prefixes.Bytes(); used > limit {
			t.Fatalf("%d bytes are used after %d conversations", used, i)
		}
		if i == after {
			before = heap()
		}
	}
	t.Logf("%d conversations: the heap has %d KiB after %d, %d in the end", conversations, before>>10, after, heap()>>10)
	if now := heap(); now > before+256<<10 {
		t.Errorf("the heap has grown from %d to %d bytes", before, now)
	}
}

// TestRecallOfManyDeclarations: a client that declares tools in every turn is recalled as long as they are not too large
// to be read again. What is kept of them does not grow with them, and a request is sent as without a memory.
func TestRecallOfManyDeclarations(t *testing.T) {
	const limit, turns, each = 1 << 20, 26, 20
	with, without := recallGateway(t, limit, nil), recallGateway(t, 0, nil)
	change := func(g *Gateway) { g.models[0].ContextLength = 1 << 20 }
	change(with)
	change(without)
	var scratches [2]Scratch
	p, items, got := &played{responses: true, model: testModel}, `{"role":"user","content":"Hi"}`, ""
	for turn := range turns {
		body := `{"model":"` + testModel + `","tools":[{"type":"function","name":"f"}],"input":[` + items + `]}`
		want, _ := askRecalling(without, &scratches[0], p, body, testNow, "")
		answer, recall := askRecalling(with, &scratches[1], p, body, testNow, "")
		if !reflect.DeepEqual(answer, want) || want.Status != 0 {
			t.Fatalf("turn %d (%s):\n%s", turn+1, recall, difference(answer, want))
		}
		if used := with.options.Prefixes.Bytes(); used > limit {
			t.Fatalf("turn %d: %d bytes are used", turn+1, used)
		}
		got += recall[:1]
		for i := range each {
			items += fmt.Sprintf(`,{"type":"additional_tools","role":"developer","tools":[{"type":"function",`+
				`"name":"t%d_%d","description":"%s"}]}`, turn, i, strings.Repeat("x", 500))
		}
		items += `,{"role":"user","content":"More"}`
	}
	if want := regexp.MustCompile(`^mh{15,25}m+$`); !want.MatchString(got) {
		t.Errorf("%s, want %s", got, want)
	}
}

// FuzzRecallEdited: a conversation of which bytes are changed between two requests is sent as without a memory. The
// conversation, and those before it, are played at random.
func FuzzRecallEdited(f *testing.F) {
	f.Add(uint64(1), uint8(30), uint16(0), uint16(0), "")
	f.Add(uint64(2), uint8(40), uint16(600), uint16(1), "x")
	f.Add(uint64(3), uint8(20), uint16(900), uint16(40), `"},{"role":"user","content":"`)
	f.Add(uint64(4), uint8(50), uint16(60_000), uint16(0), " ")
	f.Add(uint64(5), uint8(60), uint16(40), uint16(2), `"input":[],`)
	f.Add(uint64(6), uint8(60), uint16(2000), uint16(300), ``)
	f.Fuzz(func(t *testing.T, seed uint64, requests uint8, from, drop uint16, instead string) {
		with, without := recallGateway(t, 1<<20, nil), recallGateway(t, 0, nil)
		c := newConversations(seed, with.options.SealKeys)
		var p *played
		var body string
		same := func(body string) {
			t.Helper()
			want, _ := askRecalling(without, nil, p, body, c.now, "")
			if got, recall := askRecalling(with, nil, p, body, c.now, ""); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %s\n%s", recall, body, difference(got, want))
			}
		}
		for range 1 + requests%64 {
			p = c.next()
			body = c.body(p)
			same(body)
		}
		at := int(from) % (len(body) + 1)
		edited := body[:at] + instead + body[min(at+int(drop), len(body)):]
		for _, body := range []string{edited, body, edited, body[:at] + instead + body[at:], edited} {
			same(body)
		}
	})
}
