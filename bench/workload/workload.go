package workload

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// Workload is a number of conversations with a gateway's clients.
type Workload struct {
	Name, About   string
	Conversations []*Conversation
}

// Conversation is a sequence of requests of one client: each has the messages of the one before it, the answer to it,
// and a new message.
type Conversation struct {
	// ID names the conversation, as a client may do in a header.
	ID string
	// Client is whose conversation it is, and Group what kind of client that is. Both are empty where clients are not told
	// apart.
	Client, Group string
	// Start is when the first request is sent.
	Start time.Duration
	Turns []Turn

	system string
	tools  bool
}

// Turn is a request.
type Turn struct {
	// Wait is the time between the answer before it and this request.
	Wait time.Duration
	// Answer is how many tokens the answer has.
	Answer int

	text string
}

// Requests returns how many requests there are in all conversations.
func (w *Workload) Requests() int {
	n := 0
	for _, c := range w.Conversations {
		n += len(c.Turns)
	}
	return n
}

// message is a message of Chat Completions.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	ID      string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Arguments   string          `json:"arguments,omitempty"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

var look = function{Name: "look", Description: "Looks something up.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)}

// Body returns the body of the request of a turn, for POST /v1/chat/completions.
func (c *Conversation) Body(model string, turn int) []byte {
	var request struct {
		Model     string    `json:"model"`
		Messages  []message `json:"messages"`
		Tools     []tool    `json:"tools,omitempty"`
		Stream    bool      `json:"stream"`
		MaxTokens int       `json:"max_completion_tokens"`
	}
	request.Model, request.Stream, request.MaxTokens = model, true, c.Turns[turn].Answer
	request.Messages = append(request.Messages, message{Role: "system", Content: c.system})
	if c.tools {
		request.Tools = []tool{{"function", look}}
	}
	for i, t := range c.Turns[:turn+1] {
		if i == 0 || !c.tools {
			if i > 0 {
				request.Messages = append(request.Messages, message{Role: "assistant", Content: answer(c.Turns[i-1].Answer)})
			}
			request.Messages = append(request.Messages, message{Role: "user", Content: t.text})
			continue
		}
		id := "call_" + strconv.Itoa(i)
		arguments := `{"at":"` + strconv.Itoa(i) + `"}`
		request.Messages = append(request.Messages,
			message{Role: "assistant", Calls: []call{{id, "function", function{Name: look.Name, Arguments: arguments}}}},
			message{Role: "tool", ID: id, Content: t.text})
	}
	body, err := json.Marshal(request)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return body
}

// answer returns the text that stands for the answer of so many tokens in the next requests. A model's thoughts are not
// sent back.
func answer(tokens int) string { return words(rand.New(rand.NewPCG(3, 0)), max(tokens-20, 1)) }

// list are words that are one token each after a space.
var list = [...]string{" river", " stone", " window", " garden", " letter", " market", " winter", " paper", " bridge",
	" island", " forest", " number", " engine", " silver", " summer", " village"}

// words returns a text of about n tokens.
func words(random *rand.Rand, n int) string {
	text := make([]byte, 0, 8*n)
	for range n {
		text = append(text, list[random.IntN(len(list))]...)
	}
	return string(text)
}

// Scale says how much a workload has: 1 is for 8 servers over a minute.
type Scale struct {
	Servers int
	Length  time.Duration
}

// generator draws what a workload needs.
type generator struct {
	*rand.Rand
	length time.Duration
	next   int
}

// between returns a number from low to high.
func (g *generator) between(low, high int) int { return low + g.IntN(high-low+1) }

// seconds returns a duration from low to high.
func (g *generator) seconds(low, high float64) time.Duration {
	return time.Duration((low + (high-low)*g.Float64()) * float64(time.Second))
}

// conversation returns a conversation with turns of the shape.
func (g *generator) conversation(start time.Duration, system string, s shape) *Conversation {
	g.next++
	c := &Conversation{ID: "conversation-" + strconv.Itoa(g.next), Start: start, system: system, tools: s.tools}
	for i := range g.between(s.turns[0], s.turns[1]) {
		t := Turn{Answer: g.between(s.answer[0], s.answer[1])}
		size := s.first
		if i > 0 {
			size, t.Wait = s.later, g.seconds(s.wait[0], s.wait[1])
		}
		t.text = words(g.Rand, g.between(size[0], size[1]))
		c.Turns = append(c.Turns, t)
	}
	return c
}

// shape is what conversations of a kind have: numbers of turns and tokens, seconds between turns, each from … to.
type shape struct {
	turns, first, later, answer [2]int
	wait                        [2]float64
	tools                       bool
}

// spread returns n times, in their order, evenly at random.
func (g *generator) spread(n int, from, to time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = from + time.Duration(g.Int64N(int64(to-from)))
	}
	slices.Sort(all)
	return all
}
