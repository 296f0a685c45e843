package exchange

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// longConversation returns the requests of a conversation of so many turns.
func longConversation(turns int, reasoning func(i int) string) (bodies []string) {
	items := `{"role":"user","content":"` + strings.Repeat("What is it? ", 400) + `"}`
	for i := range turns {
		bodies = append(bodies, `{"model":"`+testModel+`","stream":true,"input":[`+items+`]}`)
		items += "," + reasoning(i) + fmt.Sprintf(`,{"type":"function_call","call_id":"c%d","name":"f","arguments":"{}"},`+
			`{"type":"function_call_output","call_id":"c%[1]d","output":"It is %[1]d."}`, i)
	}
	return bodies
}

func noReasoning(int) string { return `{"type":"reasoning","summary":[]}` }

// TestRecall: a turn is recalled from the second on, however often it comes, and so is one that forks. A turn of which
// a byte differs is not recalled beyond that byte.
func TestRecall(t *testing.T) {
	g := recallGateway(t, 1<<20, nil)
	g.leastRecalled = leastRecalled
	p := &played{responses: true, model: testModel}
	all := longConversation(12, noReasoning)
	tokens := 0
	recall := func(body, want string) int {
		t.Helper()
		x := forwarded(t, g, contract.ResponsesPath, body)
		if got := x.Report(); got.Recall != want {
			t.Fatalf("%q, want %q", got.Recall, want)
		}
		return x.Report().RecalledTokens
	}
	for i, body := range all {
		want := RecallHit
		if i == 0 {
			want = RecallMiss
		}
		n := recall(body, want)
		if i > 1 && n <= tokens {
			t.Errorf("turn %d: %d tokens are recalled after %d", i+1, n, tokens)
		}
		tokens = n
	}
	if n := recall(all[11], RecallHit); n != tokens {
		t.Errorf("the same turn again: %d tokens are recalled, want %d", n, tokens)
	}
	last := all[11]
	at := strings.LastIndex(last[:strings.LastIndex(last, "It is 9.")+7], "9")
	if n := recall(last[:at]+"8"+last[at+1:], RecallHit); n >= tokens || n < tokens-100 {
		t.Errorf("with another byte: %d tokens are recalled of %d", n, tokens)
	}
	recall(strings.Replace(last, "What", "That", 1), RecallHit) // only the instructions, which are at the beginning
	recall(strings.Replace(last, `"stream":true`, `"stream":false`, 1), RecallMiss)
	if _, small := askRecalling(g, nil, p, strings.ReplaceAll(all[0], "What is it? ", ""), testNow, ""); small != "" {
		t.Errorf("a small request: %q", small)
	}
}

// TestRecallForOneClient: another client, another key, another tenant, the next day and another configuration find
// nothing of what was remembered.
func TestRecallForOneClient(t *testing.T) {
	memory := prefixmemory.New(1<<20, &[prefixmemory.KeySize]byte{1})
	open := recallGateway(t, 0, func(o *Options) { o.Prefixes = memory })
	named := recallGateway(t, 0, func(o *Options) {
		o.Prefixes = memory
		o.Clients = contract.Clients{By: contract.ClientsByHeader, Header: "x-user"}
	})
	body := longConversation(3, noReasoning)[2]
	for _, test := range []struct {
		name, want string
		g          *Gateway
		p          played
		now        int64
	}{
		{"first", RecallMiss, open, played{}, testNow},
		{"the same", RecallHit, open, played{}, testNow},
		{"a key", RecallMiss, open, played{key: "k"}, testNow},
		{"the same key", RecallHit, open, played{key: "k"}, testNow},
		{"another key", RecallMiss, open, played{key: "l"}, testNow},
		{"a tenant", RecallMiss, open, played{tenant: "t"}, testNow},
		{"another day", RecallMiss, open, played{}, testNow + 86_400_000},
		{"an earlier time", RecallMiss, open, played{}, testNow - 1000},
		{"another gateway", RecallMiss, named, played{}, testNow},
		{"a client", RecallMiss, named, played{headers: []Header{{"x-user", "a"}}}, testNow},
		{"another client", RecallMiss, named, played{headers: []Header{{"x-user", "b"}}}, testNow},
		{"the client with a key", RecallHit, named, played{headers: []Header{{"x-user", "a"}}, key: "k"}, testNow},
		{"no client, with a key", RecallMiss, named, played{key: "k"}, testNow},
	} {
		test.p.responses, test.p.model = true, testModel
		if _, got := askRecalling(test.g, nil, &test.p, body, test.now, ""); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestRecallUntilSealExpires: a conversation is recalled while its sealed reasoning opens, and refused from then on.
func TestRecallUntilSealExpires(t *testing.T) {
	g := recallGateway(t, 1<<20, nil)
	const begun = testNow + 3_600_000 // not at the end of a day
	now := int64(begun / 1000)
	bodies := longConversation(4, func(i int) string {
		sealed, err := g.options.SealKeys.Seal(nil, []byte("Hm."), seal.Bound{Model: testModel}, now+int64(100-20*i))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"type":"reasoning","summary":[],"encrypted_content":%q}`, sealed)
	})
	p := &played{responses: true, model: testModel}
	for _, test := range []struct {
		after, turn, status int
		want                string
	}{
		{0, 3, 0, RecallMiss}, {59, 3, 0, RecallHit}, {60, 3, 400, RecallMiss}, {60, 2, 0, RecallHit}, {79, 2, 0, RecallHit},
		{80, 2, 400, RecallMiss}, {99, 1, 0, RecallHit}, {100, 1, 400, RecallMiss},
	} {
		got, recall := askRecalling(g, nil, p, bodies[test.turn], begun+int64(test.after)*1000, "")
		if got.Status != test.status || recall != test.want {
			t.Errorf("turn %d after %d s: %d, %q, want %d, %q", test.turn+1, test.after, got.Status, recall, test.status,
				test.want)
		}
	}
}

// TestRecallUntilFirstSealExpires: of the seals of a conversation, the one that expires first counts, also if it was
// remembered in an earlier turn.
func TestRecallUntilFirstSealExpires(t *testing.T) {
	g := recallGateway(t, 1<<20, nil)
	const begun = testNow + 3_600_000 // not at the end of a day
	bodies := longConversation(4, func(i int) string {
		sealed, err := g.options.SealKeys.Seal(nil, []byte("Hm."), seal.Bound{Model: testModel}, begun/1000+int64(100+20*i))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"type":"reasoning","summary":[],"encrypted_content":%q}`, sealed)
	})
	p := &played{responses: true, model: testModel}
	for i, want := range []string{RecallMiss, RecallHit, RecallHit, RecallHit, RecallHit} {
		got, recall := askRecalling(g, nil, p, bodies[min(i, 3)], begun+int64(i)*1000, "")
		if got.Status != 0 || recall != want {
			t.Errorf("turn %d: %d, %q", i+1, got.Status, recall)
		}
	}
	if got, recall := askRecalling(g, nil, p, bodies[3], begun+100_000, ""); got.Status != 400 {
		t.Errorf("after the first seal has expired: %d, %q", got.Status, recall)
	}
}

// TestRecallByAPI: what was remembered of a request to one API, or of one that declines the responses service, is not
// found by the same bytes to another API, or without that header.
func TestRecallByAPI(t *testing.T) {
	change := func(o *Options) { o.ResponsesService = contract.ResponsesService{Pool: "service", Stores: true} }
	with, without := recallGateway(t, 1<<20, change), recallGateway(t, 0, change)
	declined := []Header{{contract.ServiceHeader, contract.ServiceDeclined}}
	const chat, items = `"messages":[{"role":"user","content":"A"},{"role":"user","content":"B"}]`,
		`{"role":"user","content":"C"},{"role":"user","content":"D"}`
	for _, body := range []string{
		`{"model":"` + testModel + `",` + chat + `,"input":[` + items + `]}`,
		`{"model":"` + testModel + `","input":[` + items + `],` + chat + `}`,
	} {
		for i, p := range []played{
			{responses: true, headers: declined}, {responses: true, headers: declined}, {responses: true}, {}, {},
			{responses: true}, {responses: true, headers: declined},
		} {
			p.model = testModel
			want, _ := askRecalling(without, nil, &p, body, testNow, "")
			if got, recall := askRecalling(with, nil, &p, body, testNow, ""); !reflect.DeepEqual(got, want) {
				t.Errorf("request %d (%s):\n%s", i+1, recall, difference(got, want))
			}
		}
	}
}
