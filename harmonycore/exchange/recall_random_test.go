package exchange

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// otherModel is a model with settings that change prompts.
const otherModel = "other"

// recallGateway is a gateway with models of several settings, and with a memory of prefixes of so many bytes, if any.
func recallGateway(t testing.TB, limit int, change func(*Options)) *Gateway {
	t.Helper()
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	g := testGateway(func(o *Options) {
		o.SealKeys, o.Seal.LifetimeS, o.Seal.TenantHeader = keys, 100, "x-tenant"
		o.Models[0].ContextLength = 20_000
		o.Models[0].Routing = contract.Routing{Affinity: true, BlockHashes: 20}
		m := o.Models[0]
		m.Name, m.ContextLength, m.DropCommentaryFromHistory = otherModel, 6000, true
		m.Server, m.UnsupportedContent = contract.SGLang, contract.ContentDrop
		m.History = contract.History{Calls: contract.HistoryTemplate, Results: contract.HistorySampled}
		o.Models = append(o.Models, m)
		if change != nil {
			change(o)
		}
		if limit > 0 {
			o.Prefixes = prefixmemory.New(limit, &[prefixmemory.KeySize]byte{1, 2, 3})
		}
	})
	if limit > 0 {
		g.leastRecalled, g.leastCut = 1, 700
	}
	return g
}

// conversations plays conversations at random.
type conversations struct {
	*rand.Rand
	keys  *seal.Keys
	now   int64
	calls int
	all   []played
}

// played is a conversation, and what stands beside it in its requests.
type played struct {
	// responses and messages report whether it is played by these APIs, and not by Chat.
	responses   bool
	messages    bool
	items       []string
	open        []string // calls without a result
	model       string
	head, tail  string
	key, tenant string
	headers     []Header
	space       bool
}

func newConversations(seed uint64, keys *seal.Keys) *conversations {
	return &conversations{Rand: rand.New(rand.NewPCG(seed, 1)), keys: keys, now: testNow}
}

func (c *conversations) one(of ...string) string { return of[c.IntN(len(of))] }

func (c *conversations) words() string {
	words := strings.Fields("the file has a test that fails since lines were read naïve 東京 <|end|> func(x) := " +
		"1234567 \\n")
	var b strings.Builder
	for range 1 + c.IntN(1+c.IntN(120)) {
		b.WriteString(words[c.IntN(len(words))] + " ")
	}
	return strings.Trim(strconv.QuoteToASCII(b.String()), `"`)
}

func (c *conversations) begin() played {
	p := played{responses: c.IntN(2) == 0, model: c.one(testModel, testModel, testModel, otherModel),
		key: c.one("", "a", "b"), tenant: c.one("", "", "t")}
	c.surround(&p)
	for c.IntN(3) == 0 {
		p.items = append(p.items, fmt.Sprintf(`{"role":%q,"content":"%s"}`, c.one("system", "developer"), c.words()))
	}
	for p.responses && c.IntN(3) == 0 {
		p.items = slices.Insert(p.items, c.IntN(len(p.items)+1), c.declaration())
	}
	p.items = append(p.items, c.user())
	return p
}

// surround makes the members beside the conversation.
func (c *conversations) surround(p *played) {
	member := func(tool string) string {
		if p.responses {
			return fmt.Sprintf(`{"type":"function","name":%q,"parameters":{"type":"object"}}`, tool)
		}
		return fmt.Sprintf(`{"type":"function","function":{"name":%q,"parameters":{"type":"object"}}}`, tool)
	}
	tools := `"tools":[` + member("f") + "," + member(c.one("g", "g", "h")) + "]"
	if p.responses {
		tools = c.one(tools, tools, tools, tools, `"tools":[]`,
			`"tools":[{"type":"function","name":"f","defer_loading":true},`+member("g")+"]",
			`"tools":[{"type":"tool_search","execution":"client"},{"type":"function","name":"f","defer_loading":true},`+
				member("g")+"]")
	}
	rest := []string{tools, `"stream":true`}
	if c.IntN(4) == 0 {
		rest = append(rest, `"temperature":0.5`)
	}
	if p.responses {
		rest = append(rest, `"include":["reasoning.encrypted_content"]`)
		rest = append(rest, c.one(`"reasoning":{"effort":"low"}`, `"reasoning":{}`, `"instructions":"Be kind."`))
		if c.IntN(10) > 0 {
			rest = append(rest, `"store":false`)
		}
		if c.IntN(10) == 0 {
			rest = append(rest, c.one(`"text":{"format":{"type":"json_object"}}`, `"tool_choice":"required"`,
				`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`,
				`"tool_choice":{"type":"function","name":"f"}`, `"tool_choice":"none"`))
		}
		if c.IntN(12) == 0 {
			rest = append(rest, `"truncation":"auto"`)
		}
		if c.IntN(12) == 0 {
			rest = append(rest, `"prompt_cache_key":"k"`)
		}
	} else {
		rest = append(rest, c.one(`"reasoning_effort":"low"`, `"n":2`, `"seed":1`))
	}
	c.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	at := c.IntN(len(rest) + 1)
	p.head, p.tail = strings.Join(rest[:at], ","), strings.Join(rest[at:], ",")
	p.headers = nil
	if c.IntN(15) == 0 {
		p.headers = append(p.headers, Header{contract.EventsHeader, contract.EventsChannels})
	}
	p.space = c.IntN(5) == 0
}

func (c *conversations) user() string {
	switch c.IntN(12) {
	case 0:
		return fmt.Sprintf(`{"content":"%s","role":"user"}`, c.words())
	case 1:
		return fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"%s"},{"type":"text","text":"%s"}]}`,
			c.words(), c.words())
	}
	return fmt.Sprintf(`{"role":"user","content":"%s"}`, c.words())
}

// grow adds to a conversation what a turn may add.
func (c *conversations) grow(p *played) {
	if p.responses {
		c.growItems(p)
	} else {
		c.growMessages(p)
	}
	for c.IntN(10) == 0 {
		p.items = append(p.items, fmt.Sprintf(`{"role":%q,"content":"%s"}`, c.one("system", "developer", "user"), c.words()))
	}
}

func (c *conversations) growMessages(p *played) {
	reasoning := ""
	if c.IntN(2) == 0 {
		reasoning = fmt.Sprintf(`,"reasoning":"%s"`, c.words())
	}
	if c.IntN(3) == 0 {
		p.items = append(p.items, fmt.Sprintf(`{"role":"assistant","content":"%s"%s}`, c.words(), reasoning), c.user())
		return
	}
	var calls []string
	for range 1 + c.IntN(3) {
		id := c.id()
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"%s"}}`, id,
			c.words()))
		p.open = append(p.open, fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"%s"}`, id, c.words()))
	}
	p.items = append(p.items, fmt.Sprintf(`{"role":"assistant","content":%s%s,"tool_calls":[%s]}`,
		c.one("null", `"I look."`), reasoning, strings.Join(calls, ",")))
	c.answer(p)
}

// answer adds the results of open calls, nearly always all of them.
func (c *conversations) answer(p *played) {
	for len(p.open) > 0 && c.IntN(12) > 0 {
		p.items, p.open = append(p.items, p.open[0]), p.open[1:]
	}
}

func (c *conversations) id() string {
	c.calls++
	if c.IntN(8) == 0 {
		return "same"
	}
	return "call" + strconv.Itoa(c.calls)
}

func (c *conversations) growItems(p *played) {
	if c.IntN(3) > 0 {
		p.items = append(p.items, c.reasoning(p))
	}
	switch c.IntN(8) {
	case 0, 1:
		p.items = append(p.items, fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text",`+
			`"text":"%s"}]%s}`, c.words(), c.one("", `,"phase":"final_answer"`, `,"phase":"commentary"`)))
		if c.IntN(4) > 0 {
			p.items = append(p.items, c.user())
		}
		return
	case 2:
		p.items = append(p.items, fmt.Sprintf(`{"role":"assistant","content":"%s"}`, c.words()))
	case 3:
		p.items = append(p.items, c.one(`{"type":"web_search_call","id":"x"}`, `{"type":"unheard_of"}`,
			`{"type":"mcp_list_tools"}`, `{"role":"user","content":[{"type":"input_image","image_url":"data:x"}]}`,
			`{"type":"compaction","encrypted_content":"x"}`, foreignReasoning, `{"type":"configuration_update"}`,
			updatedEffort, `{"type":"configuration_update","text":{"format":{"type":"json_object"}}}`))
	case 4:
		p.items = append(p.items, c.one(
			fmt.Sprintf(`{"type":"function_call_output","name":"f","output":"%s"}`, c.words()),
			fmt.Sprintf(`{"type":"custom_tool_call_output","name":"x","namespace":"n","call_id":null,"output":"%s"}`, c.words()),
			strings.Replace(foreignReasoning, `"content":[]`, `"content":[{"type":"reasoning_text","text":"R"}]`, 1),
			`{"type":"reasoning","summary":[{"type":"summary_text","text":"R"}],"encrypted_content":null}`))
	}
	if c.IntN(6) == 0 {
		p.items = append(p.items, c.declaration())
	}
	for range 1 + c.IntN(2) {
		id, kind, text := c.id(), "function_call", "arguments"
		if c.IntN(5) == 0 {
			kind, text = "custom_tool_call", "input"
		}
		sampled := ""
		if c.IntN(3) == 0 {
			sampled = c.sampledIDs(p)
		}
		name := c.one(`"f"`, `"f"`, `"f"`, `"g","namespace":"n"`, `"f","namespace":"n"`, `"python"`)
		p.items = append(p.items, fmt.Sprintf(`{"type":%q,"call_id":%q,"name":%s,%q:"{}"%s}`, kind, id, name, text, sampled))
		p.open = append(p.open, fmt.Sprintf(`{"type":%q,"call_id":%q,"output":"%s"}`, kind+"_output", id, c.words()))
	}
	c.answer(p)
}

// declaration is an item that declares tools, or two of a search. Some of them are declared before, take a name that
// another tool has, or belong in front.
func (c *conversations) declaration() string {
	tool := func() string {
		return fmt.Sprintf(`{"type":%q,"name":%q%s}`, c.one("function", "function", "custom"), c.one("f", "g", "k", "l"),
			c.one("", "", `,"description":"D"`, `,"defer_loading":true`))
	}
	tools := tool()
	switch c.IntN(8) {
	case 0, 1:
		tools += "," + tool()
	case 2, 3:
		tools = fmt.Sprintf(`{"type":"namespace","name":%q,"description":"N","tools":[%s]}`,
			c.one("n", "m", "functions"), tools)
	case 4:
		tools = c.one(`{"type":"builtin","name":"python"}`, `{"type":"tool_search","execution":"client"}`, ``,
			`{"type":"function","name":"big","description":"`+strings.Repeat("big ", 200)+`"}`)
	}
	switch c.IntN(4) {
	case 0:
		id := c.one(c.id(), "same")
		call := fmt.Sprintf(`{"type":"tool_search_call","call_id":%q,"arguments":{"query":"q"}}`, id)
		found := fmt.Sprintf(`{"type":"tool_search_output","call_id":%q,"tools":[%s]}`, id, tools)
		return c.one(call+","+found, call+","+found, call, found)
	case 1:
		return fmt.Sprintf(`{"role":"developer","tools":[%s],"type":"additional_tools"}`, tools)
	default:
		return fmt.Sprintf(`{"type":"additional_tools","role":"developer","tools":[%s]}`, tools)
	}
}

// foreignReasoning is reasoning that another service has sealed, and updatedEffort an item that changes the effort.
const (
	foreignReasoning = `{"type":"reasoning","content":[],"encrypted_content":"gAAAAABotdZ0"}`
	updatedEffort    = `{"type":"configuration_update","reasoning":{"effort":"high"}}`
)

// bound is what a conversation's sealed texts belong to.
func (c *conversations) bound(p *played) seal.Bound {
	return seal.Bound{Model: p.model, Tenant: p.tenant}
}

func (c *conversations) expiry() int64 {
	if c.IntN(10) == 0 {
		return c.now/1000 + int64(c.IntN(200))
	}
	return c.now/1000 + 100_000
}

func (c *conversations) reasoning(p *played) string {
	if c.IntN(2) == 0 {
		return fmt.Sprintf(`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"%s"}]}`, c.words())
	}
	sealed, _ := c.keys.SealAs(seal.Text, nil, []byte("sealed "+c.words()), c.bound(p), c.expiry())
	return fmt.Sprintf(`{"type":"reasoning","summary":[],"encrypted_content":%q}`, sealed)
}

// sampledIDs is a call of f with the arguments {} as the model has written it, in other tokens than an encoder's.
func (c *conversations) sampledIDs(p *played) string {
	return c.sealedIDs(p, "<|channel|>commentary to=functions.f <|constrain|>json<|message|>«{}»<|call|>")
}

// sealedIDs is the member with the ids of what the model has written.
func (c *conversations) sealedIDs(p *played, written string) string {
	var packed []byte
	for _, id := range spelledOut(written) {
		for ; id >= 0x80; id >>= 7 {
			packed = append(packed, byte(id)|0x80)
		}
		packed = append(packed, byte(id))
	}
	sealed, _ := c.keys.SealAs(seal.Turn, nil, packed, c.bound(p), c.expiry())
	return fmt.Sprintf(`,"sampled_ids":%q`, sealed)
}

// next is the next request: mostly a conversation that goes on, and now and then one that is changed.
func (c *conversations) next() *played {
	if len(c.all) == 0 || c.IntN(25) == 0 && len(c.all) < 12 {
		c.all = append(c.all, c.begin())
		return &c.all[len(c.all)-1]
	}
	i := c.IntN(len(c.all))
	p := &c.all[i]
	if len(p.items) > 60 {
		*p = c.begin()
		return p
	}
	switch c.IntN(40) {
	case 0: // a fork
		f := *p
		f.items = slices.Clone(p.items[:1+c.IntN(len(p.items))])
		f.open = slices.Clone(p.open)
		c.all[c.IntN(len(c.all))] = f
	case 1: // an edit
		p.items = slices.Clone(p.items)
		p.items[c.IntN(len(p.items))] = c.user()
	case 2: // a compaction
		p.items = []string{c.user()}
		p.open = nil
	case 3: // reasoning that is left out
		p.items = slices.DeleteFunc(slices.Clone(p.items), func(s string) bool {
			return strings.Contains(s, "reasoning_text")
		})
		if len(p.items) == 0 {
			p.items = append(p.items, c.user())
		}
	case 4:
		c.surround(p)
	case 5:
		c.now += int64(c.IntN(3)) * 1000 * int64(c.one("40", "90000")[0]-'0') * 700
	case 6:
		p.model = c.one(testModel, otherModel)
	case 7:
		p.key, p.tenant = c.one("", "a", "b"), c.one("", "t", "u")
	case 8: // a call whose result never comes, or comes late
		p.open = nil
	case 9, 10, 11: // again
	case 12:
		p.items = append(p.items, c.one(`{"role":"assistant","content":"And"}`, `7`, `{"type":"item_reference","id":"i"}`,
			`{"role":"user"}`, `{"role":"user","content":"\ud800"}`))
		c.changed(p)
		q := *p
		p.items = p.items[:len(p.items)-1] // once
		return &q
	case 13:
		c.answer(p)
	default:
		c.grow(p)
	}
	return p
}

func (c *conversations) changed(p *played) { p.items = slices.Clone(p.items) }

// body is the request's body.
func (c *conversations) body(p *played) string {
	name, comma := "messages", ","
	if p.responses {
		name = "input"
	}
	if p.space {
		comma = " ,\n  "
	}
	items := strings.Join(p.items, comma)
	switch c.IntN(200) {
	case 0:
		items += ","
	case 1:
		items += "]"
	case 2:
		items = items[:len(items)-1]
	}
	parts := []string{fmt.Sprintf(`"model":%q`, p.model)}
	if p.head != "" {
		parts = append(parts, p.head)
	}
	parts = append(parts, fmt.Sprintf(`%q:[%s]`, name, items))
	if p.tail != "" {
		parts = append(parts, p.tail)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// recalled is what a gateway makes of a request: what is compared.
type recalled struct {
	Body, Path, Pool, Reply string
	Status                  int
	Internal                []Header
	Report                  Report
	Answer                  string
}

// anySealed is a text that is sealed in an answer, with random numbers.
var anySealed = regexp.MustCompile(`"encrypted_content":"[^"]*"`)

// askRecalling sends a request, and an answer to it that calls a function, if one is named.
func askRecalling(g *Gateway, s *Scratch, p *played, body string, now int64, called string) (
	out recalled, recall string,
) {
	path := contract.ChatPath
	if p.responses {
		path = contract.ResponsesPath
	}
	if p.messages {
		path = contract.MessagesPath
	}
	x := g.Begin("POST", path)
	if p.key != "" {
		x.Header("authorization", "Bearer "+p.key)
	}
	if p.tenant != "" {
		x.Header("x-tenant", p.tenant)
	}
	for _, h := range p.headers {
		x.Header(h.Name, h.Value)
	}
	memory := []byte(body)
	a := x.Request(memory, Host{Now: now, ID: testID, Scratch: s})
	for i := range memory {
		memory[i] = '?' // as a host may
	}
	switch {
	case a.Reply != nil:
		out.Reply, out.Status = string(a.Reply.Body), a.Reply.Status
	case a.Forward != nil:
		out.Body, out.Path, out.Pool = string(a.Forward.Body), a.Forward.Path, a.Forward.Pool
		for _, h := range a.Forward.Internal {
			out.Internal = append(out.Internal, Header{h.Name, strings.Clone(h.Value)})
		}
	}
	out.Report = x.Report()
	if called != "" && a.Forward != nil && p.model == testModel {
		stream := answerOf("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions." +
			called + " <|constrain|>json<|message|>{}<|call|>")
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
		out.Answer = anySealed.ReplaceAllString(string(x.ResponseBody([]byte(stream), true).Body), "sealed")
		out.Report = x.Report()
	}
	recall = out.Report.Recall
	out.Report.Recall, out.Report.RecalledTokens = "", 0
	return out, recall
}

// difference shows the fields in which two differ.
func difference(got, want recalled) string {
	var b strings.Builder
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if a, b2 := fmt.Sprintf("%+v", g.Field(i)), fmt.Sprintf("%+v", w.Field(i)); a != b2 {
			at := 0
			for at < min(len(a), len(b2)) && a[at] == b2[at] {
				at++
			}
			from := max(at-100, 0)
			fmt.Fprintf(&b, "%s from %d:\n got %.400s\nwant %.400s\n", g.Type().Field(i).Name, from, a[from:], b2[from:])
		}
	}
	return b.String()
}

// play plays so many requests through a gateway with a memory and through one without, and compares them.
func play(t *testing.T, seed uint64, requests, limit int, change func(*Options)) (hits int, g *Gateway) {
	t.Helper()
	with, without := recallGateway(t, limit, change), recallGateway(t, 0, change)
	var scratches [2]Scratch
	c := newConversations(seed, with.options.SealKeys)
	for i := range requests {
		p := c.next()
		body, called := c.body(p), c.one("f", "f", "g", "k", "l", "n__f", "f_2", "tool_search", "")
		want, _ := askRecalling(without, &scratches[0], p, body, c.now, called)
		got, recall := askRecalling(with, &scratches[1], p, body, c.now, called)
		if recall == RecallHit {
			hits++
		}
		if want.Status != 0 && c.IntN(2) == 0 {
			*p = c.begin()
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, request %d (%s), %d bytes, at %d:\n%s\n%s", seed, i, recall, limit, c.now,
				difference(got, want), body)
		}
		if used := with.options.Prefixes.Bytes(); used > limit {
			t.Fatalf("seed %d, request %d: %d bytes of %d are used", seed, i, used, limit)
		}
	}
	return hits, with
}

// recallLimits are the sizes of memories: from one that has room for nothing to one that forgets nothing.
var recallLimits = []int{2 << 10, 40 << 10, 200 << 10, 4 << 20}

// recallOptions are what a gateway's options differ in.
var recallOptions = []func(*Options){
	nil,
	func(o *Options) {
		o.Clients = contract.Clients{By: contract.ClientsByHeader, Header: "authorization", Context: 3000}
	},
	func(o *Options) { o.Clients.Reserve, o.Models[0].ContextLength = true, 900 },
	func(o *Options) { o.Mode, o.Models = contract.ModeReduced, o.Models[:1] },
	func(o *Options) {
		o.ResponsesService, o.Models[0].ContextLength = contract.ResponsesService{Pool: "service", Stores: true}, 1500
		o.Models[1].System.Date = contract.DateOmit
	},
}

// TestRecallIsExact: what is sent is what is sent without a memory, whatever clients do. HARMONY_CONVERSATIONS is how
// many requests are played, if not a few.
func TestRecallIsExact(t *testing.T) {
	requests := 1500
	if n, err := strconv.Atoi(os.Getenv("HARMONY_CONVERSATIONS")); err == nil {
		requests = n
	}
	const each = 250
	hits := 0
	for i := 0; i*each < requests; i++ {
		limit := recallLimits[len(recallLimits)-1]
		if i%3 == 2 {
			limit = recallLimits[i/3%len(recallLimits)]
		}
		n, _ := play(t, uint64(i), each, limit, recallOptions[i%len(recallOptions)])
		hits += n
	}
	if hits < requests/4 {
		t.Errorf("%d of %d requests were recalled", hits, requests)
	}
	t.Logf("%d of %d requests were recalled", hits, requests)
}

// FuzzRecall: what is sent for a conversation that goes on is what is sent without a memory, whatever its elements and
// the members beside it are.
func FuzzRecall(f *testing.F) {
	user, call := `{"role":"user","content":"A"}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
	f.Add(true, `"stream":true,`, user, call+`,{"type":"function_call_output","call_id":"c","output":"x"}`, ``)
	f.Add(true, ``, `{"role":"system","content":"S"}`, `{"role":"developer","content":"D"},`+user, `,"truncation":"auto"`)
	f.Add(true, ``, user+","+call, `{"type":"function_call_output","call_id":"c","output":"x"}`, `,"tools":[]`)
	f.Add(true, ``, user, `{"role":"assistant","content":"B"},`+user, `,"input":[]`)
	f.Add(false, `"n":2,`, user, `{"role":"assistant","content":"B","reasoning":"R"},`+user, `,"messages":1`)
	f.Add(false, ``, user+` `, ` {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"a","content":"x"}`, ` `)
	f.Fuzz(func(t *testing.T, responses bool, head, first, second, tail string) {
		with, without := recallGateway(t, 1<<20, nil), recallGateway(t, 0, nil)
		p, name := &played{responses: responses, model: testModel}, "messages"
		if responses {
			name = "input"
		}
		for _, items := range []string{first, first + "," + second, first, first + "," + second + "," + second} {
			body := fmt.Sprintf(`{"model":%q,%s%q:[%s]%s}`, testModel, head, name, items, tail)
			want, _ := askRecalling(without, nil, p, body, testNow, "")
			if got, recall := askRecalling(with, nil, p, body, testNow, ""); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %s\n%s", recall, body, difference(got, want))
			}
		}
	})
}
