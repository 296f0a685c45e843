package completion

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Options is what a [Translator] is made of.
type Options struct {
	Tokenizer *tokenizer.Tokenizer
	Model     Model
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
	// NewID returns letters and digits, at least 24 and unique to each request, from which all ids of its answer are made.
	// Nil makes random ones.
	NewID func() string
	// MaxBody is the largest body of a request, in bytes; 0 is 16 MiB.
	MaxBody int
}

const defaultMaxBody = 16 << 20

// Translator makes completions of requests for one model. It is safe for concurrent use.
type Translator struct{ options Options }

// New makes a Translator.
func New(o Options) *Translator {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	return &Translator{options: o}
}

// randomID returns 32 hexadecimal digits.
func randomID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

// Error is a request that is refused, or an answer that failed before the client had any of it.
type Error struct {
	// Status is the HTTP status, and Body the response's body: OpenAI's error object in JSON.
	Status int
	Body   []byte
}

// Error implements error.
func (e *Error) Error() string { return "status " + strconv.Itoa(e.Status) + ": " + string(e.Body) }

// Chat begins to answer the body of POST /v1/chat/completions. The body is not kept. The error is an [*Error].
func (t *Translator) Chat(body []byte) (*Completion, error) {
	return t.begin(contract.ChatPath, body, "logprobs")
}

// Responses begins to answer the body of POST /v1/responses. The body is not kept. The error is an [*Error].
func (t *Translator) Responses(body []byte) (*Completion, error) {
	return t.begin(contract.ResponsesPath, body, "include")
}

// begin answers a request at a path; logprobs is the member with which it asks for logprobs.
func (t *Translator) begin(path string, body []byte, logprobs string) (*Completion, error) {
	e := &engine{}
	gateway := exchange.New(exchange.Options{
		Tokenizer: t.options.Tokenizer, Dialect: e,
		Config: contract.Config{Models: []contract.Model{t.options.Model.served()}, BodyLimit: t.options.MaxBody},
	})
	c := &Completion{engine: e, exchange: gateway.Begin("POST", path), now: t.options.Now}
	action := c.exchange.Request(bytes.Clone(body), exchange.Host{Now: c.millis(), ID: t.options.NewID()})
	if action.Reply != nil {
		return nil, &Error{Status: action.Reply.Status, Body: action.Reply.Body}
	}
	if e.asked.Logprobs {
		refused := openai.Unsupported(logprobs, "Unsupported parameter: '"+logprobs+"'. This model's tokens come without logprobs.")
		return nil, &Error{Status: refused.Status, Body: refused.AppendJSON(nil)}
	}
	c.listen()
	return c, nil
}
