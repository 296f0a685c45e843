package completion

import (
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// Completion is one request in progress: the request to the model and the answer made from its tokens. It is not safe
// for concurrent use.
type Completion struct {
	// Request is the request to the model.
	Request

	engine   *engine
	exchange *exchange.Exchange
	now      func() time.Time
	// contentType is the response's media type. It is known before the first byte.
	contentType string
	// running is the number of choices that have not ended.
	running int
	out     []byte
}

// Request is what the program asks the model for.
type Request struct {
	// Prompt is the rendered conversation in token ids. The model continues it.
	Prompt []uint32
	// MaxTokens is the maximum number of tokens of each choice.
	MaxTokens int
	// StopTokens end a choice. A stop token is a part of the choice: pass the one that the model stopped at to
	// [Completion.Write] as well.
	StopTokens []uint32
	// Choices is the number of answers to generate, at least one.
	Choices  int
	Sampling Sampling
	// StructuralTag constrains the answer, in the language of xgrammar. Empty means no constraint.
	StructuralTag []byte
}

// Sampling is how tokens are drawn. A parameter that the client does not send has the value that gpt-oss was trained
// for: temperature and top_p 1, no penalties, no bias.
type Sampling struct {
	Temperature, TopP                 float64
	PresencePenalty, FrequencyPenalty float64
	// Seed is the client's number as it was spelled, or empty if there is none.
	Seed string
	// LogitBias holds, by token id, the number to add to the token's logit.
	LogitBias map[uint32]float64
	// Extras are the parameters that the client sent and [Model.Extras] names. The values are JSON text.
	Extras map[string]string
}

// Finish is the reason why a choice ended.
type Finish uint8

const (
	// Stopped means that the model generated a stop token.
	Stopped Finish = iota + 1
	// Length means that [Request.MaxTokens] was reached.
	Length
)

// start copies the gateway's request to its server into c, and puts the exchange into the state after the server's
// response headers.
func (c *Completion) start() {
	request := &c.engine.request
	c.Request = Request{
		Prompt: request.Prompt, MaxTokens: request.MaxTokens, StopTokens: request.StopTokens,
		Choices:  max(request.Choices, 1),
		Sampling: samplingOf(&request.Sampling), StructuralTag: request.StructuralTag,
	}
	c.running = c.Choices
	c.exchange.ResponseHeaders(exchange.ResponseHead{Status: 200, ContentType: "text/event-stream"})
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
		out.LogitBias[b.Token] = number(b.Value)
	}
	if len(s.Extras) > 0 {
		out.Extras = make(map[string]string, len(s.Extras))
	}
	for _, extra := range s.Extras {
		out.Extras[extra.Name] = extra.JSON
	}
	return out
}

// number reads a JSON number that the gateway has checked. An empty one is 0.
func number(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

func (c *Completion) millis() int64 { return c.now().UnixMilli() }

// Write takes tokens that the model generated for a choice, counted from 0. It returns the next bytes of the response,
// which may be none yet. They are valid until the next call. An error is an [*Error]: send it to the client in place of
// the response, of which the client has no byte yet.
func (c *Completion) Write(choice int, ids ...uint32) ([]byte, error) {
	return c.process(backend.Event{Index: choice, Tokens: ids})
}

// End ends a choice and returns the next bytes, as [Completion.Write] does. The response is complete when all choices
// have ended.
func (c *Completion) End(choice int, reason Finish) ([]byte, error) {
	finish := backend.Stopped
	if reason == Length {
		finish = backend.Length
	}
	out, err := c.process(backend.Event{Index: choice, Finish: finish})
	if c.running--; c.running > 0 || err != nil || c.Done() {
		return out, err
	}
	err = c.appendEvent(backend.Event{Done: true})
	return c.out, err
}

// Fail ends the answer with an error of the model. A stream carries it as its last event. If the client has no byte of
// the response yet, Fail returns an [*Error] with the status.
func (c *Completion) Fail(status int, message string) ([]byte, error) {
	return c.process(backend.Event{Error: &backend.Error{Status: status, Message: message}})
}

// Done reports whether the response is complete. It can be complete before the model has stopped, for example at a stop
// sequence of the client's. Then stop the model: Write ignores further tokens.
func (c *Completion) Done() bool {
	switch c.exchange.Report().Finish {
	case exchange.FinishStop, exchange.FinishLength, exchange.FinishToolCalls, exchange.FinishError:
		return true
	}
	return false
}

// ContentType returns the response's media type. It is empty until the response has bytes.
func (c *Completion) ContentType() string { return c.contentType }

// Usage counts the tokens of a completion.
type Usage struct {
	Prompt, Completion int
	// Reasoning is the number of tokens of the completion that are reasoning.
	Reasoning int
}

// Usage returns the counts so far.
func (c *Completion) Usage() Usage {
	r := c.exchange.Report()
	return Usage{Prompt: r.PromptTokens, Completion: r.CompletionTokens, Reasoning: r.Reasoning}
}

// process passes one event to the exchange and returns the bytes for the client.
func (c *Completion) process(e backend.Event) ([]byte, error) {
	c.out = c.out[:0]
	if c.Done() {
		return nil, nil
	}
	err := c.appendEvent(e)
	return c.out, err
}

// appendEvent passes one event to the exchange and appends the bytes for the client to c.out.
func (c *Completion) appendEvent(e backend.Event) error {
	c.engine.event = e
	action := c.exchange.ResponseBody(nil, false)
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
