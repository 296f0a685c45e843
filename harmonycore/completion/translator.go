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

// Options configures a [Translator].
type Options struct {
	Tokenizer *tokenizer.Tokenizer
	Model     Model
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
	// NewID returns at least 24 letters and digits that are unique to each request. All ids of the answer are made from
	// them. Nil means random ids.
	NewID func() string
	// MaxBody is the maximum length of a request body, in bytes. 0 means 16 MiB.
	MaxBody int
}

const defaultMaxBody = 16 << 20

// Translator turns requests for one model into completions. It is safe for concurrent use.
type Translator struct{ options Options }

// New returns a Translator. [Options.Tokenizer] and [Options.Model] must be set.
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

// Error is the refusal of a request, or the failure of an answer of which the client has no byte yet.
type Error struct {
	// Status is the HTTP status. Body is the response's body: the API's error object in JSON.
	Status int
	Body   []byte
}

// Error implements [error].
func (e *Error) Error() string { return "status " + strconv.Itoa(e.Status) + ": " + string(e.Body) }

// Chat begins to answer the body of POST /v1/chat/completions. It does not keep the body. The error is an [*Error].
func (t *Translator) Chat(body []byte) (*Completion, error) {
	return t.begin(contract.ChatPath, body, "logprobs")
}

// Responses begins to answer the body of POST /v1/responses. It does not keep the body. The error is an [*Error].
func (t *Translator) Responses(body []byte) (*Completion, error) {
	return t.begin(contract.ResponsesPath, body, "include")
}

// Messages begins to answer the body of POST /v1/messages, Anthropic's API. It does not keep the body. The error is an
// [*Error], in that API's form.
func (t *Translator) Messages(body []byte) (*Completion, error) {
	return t.begin(contract.MessagesPath, body, "")
}

// ChatPrompt returns the prompt of the body of POST /v1/chat/completions, in token ids. It does not keep the body. The
// error is an [*Error].
func (t *Translator) ChatPrompt(body []byte) ([]uint32, error) {
	return t.prompt(contract.ChatPath, body)
}

// ResponsesPrompt returns the prompt of the body of POST /v1/responses, as [Translator.ChatPrompt] does.
func (t *Translator) ResponsesPrompt(body []byte) ([]uint32, error) {
	return t.prompt(contract.ResponsesPath, body)
}

// MessagesPrompt returns the prompt of the body of POST /v1/messages, as [Translator.ChatPrompt] does.
func (t *Translator) MessagesPrompt(body []byte) ([]uint32, error) {
	return t.prompt(contract.MessagesPath, body)
}

func (t *Translator) prompt(path string, body []byte) ([]uint32, error) {
	c, err := t.request(path, body)
	if err != nil {
		return nil, err
	}
	return c.engine.request.Prompt, nil
}

// begin answers a request at a path. logprobs is the name of the request member that asks for logprobs.
func (t *Translator) begin(path string, body []byte, logprobs string) (*Completion, error) {
	c, err := t.request(path, body)
	if err != nil {
		return nil, err
	}
	if c.engine.request.Logprobs {
		refused := openai.Unsupported(logprobs,
			"Unsupported parameter: '"+logprobs+"'. This model's tokens come without logprobs.")
		return nil, &Error{Status: refused.Status, Body: refused.AppendJSON(nil)}
	}
	c.start()
	return c, nil
}

// request makes the request to the model of one at a path.
func (t *Translator) request(path string, body []byte) (*Completion, error) {
	e := &engine{}
	gateway := exchange.New(exchange.Options{
		Tokenizer: t.options.Tokenizer, Kind: e,
		Config: contract.Config{Models: []contract.Model{t.options.Model.settings()}, BodyLimit: t.options.MaxBody},
	})
	c := &Completion{engine: e, exchange: gateway.Begin("POST", path), now: t.options.Now}
	action := c.exchange.Request(bytes.Clone(body), exchange.Host{Now: c.millis(), Clock: c.millis,
		ID: t.options.NewID()})
	if action.Reply != nil {
		return nil, &Error{Status: action.Reply.Status, Body: action.Reply.Body}
	}
	return c, nil
}
