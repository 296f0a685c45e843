package completion

import (
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// Completion is one request at work: what the model is asked for, and the answer made of its tokens. It is not for
// concurrent use.
type Completion struct {
	// Request is what the model is asked for.
	Request

	engine   *engine
	exchange *exchange.Exchange
	now      func() time.Time
	// contentType is that of the response, known before its first byte.
	contentType string
	// running is how many choices have not ended.
	running int
	// signal is the event of which the exchange reads the engine's words.
	signal [len(eventSignal)]byte
	out    []byte
}

// Request is what the model is asked for.
type Request struct {
	// Prompt is the rendered conversation, up to where the model goes on.
	Prompt []uint32
	// MaxTokens is the most tokens that each choice may have.
	MaxTokens int
	// StopTokens end a choice. They are part of it: [Completion.Write] takes the one that the model has stopped at, too.
	StopTokens []uint32
	// Choices is how many answers are wanted, one or more.
	Choices  int
	Sampling Sampling
	// StructuralTag is what the answer is held to, in the language of xgrammar; empty holds it to nothing.
	StructuralTag []byte
}

// Sampling is how tokens are drawn. What the client has not named is what gpt-oss was trained for: temperature and top_p 1,
// no penalties, no bias.
type Sampling struct {
	Temperature, TopP                 float64
	PresencePenalty, FrequencyPenalty float64
	// Seed is the client's number as it was spelled; empty is none.
	Seed string
	// LogitBias is added to the logits of its tokens.
	LogitBias map[uint32]float64
	// Extras are the parameters that [Model.Extras] names and the client has set, as JSON text.
	Extras map[string]string
}

// Finish is why a choice has ended.
type Finish uint8

const (
	// Stopped is a stop token.
	Stopped Finish = iota + 1
	// Length is [Request.MaxTokens].
	Length
)

// listen takes over what the gateway asks of its server, and stands where the server has answered with a stream.
func (c *Completion) listen() {
	asked := &c.engine.asked
	c.Request = Request{
		Prompt: asked.Prompt, MaxTokens: asked.MaxTokens, StopTokens: asked.StopTokens, Choices: max(asked.Choices, 1),
		Sampling: samplingOf(&asked.Sampling), StructuralTag: asked.StructuralTag,
	}
	c.running = c.Choices
	c.exchange.ResponseHeaders(exchange.ResponseHead{Status: 200, ContentType: "text/event-stream"}, c.millis())
}

func samplingOf(s *backend.Sampling) Sampling {
	out := Sampling{
		Temperature: number(s.Temperature), TopP: number(s.TopP),
		PresencePenalty: number(s.PresencePenalty), FrequencyPenalty: number(s.FrequencyPenalty), Seed: s.Seed,
	}
	if len(s.LogitBias) > 0 {
		out.LogitBias = make(map[uint32]float64, len(s.LogitBias))
	}
	for _, b := range s.LogitBias {
		out.LogitBias[b.Token] = number(b.By)
	}
	if len(s.Extras) > 0 {
		out.Extras = make(map[string]string, len(s.Extras))
	}
	for _, extra := range s.Extras {
		out.Extras[extra.Name] = extra.JSON
	}
	return out
}

// number reads a JSON number that the gateway has checked; an absent one is 0.
func number(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

func (c *Completion) millis() int64 { return c.now().UnixMilli() }

// Write takes tokens that the model has generated for a choice, counted from 0, and returns what there is for the client:
// nothing yet, or the next bytes of the response. They are valid until the next call. An error is an [*Error]: the client
// gets it instead of the response, of which it has nothing.
func (c *Completion) Write(choice int, ids ...uint32) ([]byte, error) {
	return c.say(backend.Event{Index: choice, Tokens: ids})
}

// End ends a choice, and returns what [Completion.Write] returns. The response is complete when all choices have ended.
func (c *Completion) End(choice int, reason Finish) ([]byte, error) {
	finish := backend.Stopped
	if reason == Length {
		finish = backend.Length
	}
	out, err := c.say(backend.Event{Index: choice, Finish: finish})
	if c.running--; c.running > 0 || err != nil || c.Done() {
		return out, err
	}
	err = c.take(backend.Event{Done: true})
	return c.out, err
}

// Fail ends the answer with an error of the model: a stream gets it as its last event. Where the client has nothing of the
// response yet, Fail returns an [*Error] with the status.
func (c *Completion) Fail(status int, message string) ([]byte, error) {
	return c.say(backend.Event{Error: &backend.Error{Status: status, Message: message}})
}

// Done reports whether the response is complete. It may be before the model has stopped, such as at a stop sequence of the
// client's: whatever the model would generate is not wanted.
func (c *Completion) Done() bool {
	switch c.exchange.Report().Finish {
	case exchange.FinishStop, exchange.FinishLength, exchange.FinishToolCalls, exchange.FinishError:
		return true
	}
	return false
}

// ContentType is the response's media type. It is known when there are bytes of the response, and empty until then.
func (c *Completion) ContentType() string { return c.contentType }

// Usage is what a completion has taken, in tokens.
type Usage struct {
	Prompt, Completion int
	// Reasoning is how many tokens of the completion are reasoning.
	Reasoning int
}

// Usage returns the counts so far.
func (c *Completion) Usage() Usage {
	r := c.exchange.Report()
	return Usage{Prompt: r.PromptTokens, Completion: r.CompletionTokens, Reasoning: r.Reasoning}
}

// say hands one event over, and returns what comes of it.
func (c *Completion) say(e backend.Event) ([]byte, error) {
	c.out = c.out[:0]
	if c.Done() {
		return nil, nil
	}
	err := c.take(e)
	return c.out, err
}

// eventSignal is the text of a server-sent event of which the engine gives the contents.
const eventSignal = "data: x\n\n"

// take gives the exchange an event and appends what it has for the client.
func (c *Completion) take(e backend.Event) error {
	c.engine.said = e
	copy(c.signal[:], eventSignal) // the exchange may have overwritten it
	action := c.exchange.ResponseBody(c.signal[:], false, c.millis())
	if r := action.Reply; r != nil {
		if r.Status != 200 {
			return &Error{Status: r.Status, Body: r.Body}
		}
		c.contentType = "application/json"
		c.out = append(c.out, r.Body...)
		return nil
	}
	if action.Head != nil {
		c.contentType = action.Head.ContentType
	}
	c.out = append(c.out, action.Body...)
	return nil
}
