package explain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// Request is the record of a request: what the client and the gateway asked, what the server generated and when, and
// what the client got.
type Request struct {
	head *line.Request
	// calls are the requests to servers. There is one, unless the gateway asked again.
	calls []*serverCall
	// answerHead is the head of what the client got, and answer its body, in so many pieces.
	answerHead *line.Response
	answer     strings.Builder
	pieces     int
	// answerFrom and answerTo are when its first and last piece came, in milliseconds.
	answerFrom, answerTo float64
	end                  *line.End
}

// serverCall is one request to a server.
type serverCall struct {
	sent    *line.Sent
	head    *line.Response
	choices []*recordedChoice
	// chunks is what the server sent that is no tokens.
	chunks strings.Builder
}

// recordedChoice is what a server generated for one choice.
type recordedChoice struct {
	ids []uint32
	// times are when the ids came, in milliseconds.
	times []float64
	// foreign reports whether the ids are not all of the answer, or not of our vocabulary. Then messages has the answer.
	foreign    bool
	messages   []*recordedMessage
	recoveries []*line.Recovery
}

type recordedMessage struct {
	line     *line.Message
	text     strings.Builder
	from, to float64
}

// recordStart is what a record begins with.
const recordStart = `{"type":"request",`

// RecordStart is how many bytes [BeginsRecord] needs.
const RecordStart = len(recordStart)

// BeginsRecord reports whether a text begins as a record of a request does.
func BeginsRecord(text []byte) bool { return bytes.HasPrefix(text, []byte(recordStart)) }

// ReadRequest reads the record of a request, as `harmony up --record` writes it. Together with an error it returns what
// was read before it, or nil.
func ReadRequest(r io.Reader) (*Request, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, err
	}
	var q *Request
	number := 0
	for text := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		l, err := line.Read(text)
		switch first, isFirst := l.(*line.Request); {
		case err != nil && q == nil:
			return nil, fmt.Errorf("line %d is not the first line of a record: %w", number, err)
		case err != nil:
			return q, fmt.Errorf("line %d of the record cannot be read: %w; what came before it is explained", number, err)
		case isFirst && q == nil:
			q = &Request{head: first}
		case isFirst:
			return q, fmt.Errorf("line %d begins another record; explain each file alone", number)
		case q == nil:
			return nil, errors.New("the first line is not that of a record")
		case l != nil:
			q.add(l)
		}
	}
	if q == nil {
		return nil, errors.New("the record is empty")
	}
	return q, nil
}

// call returns the newest request to a server.
func (q *Request) call() *serverCall {
	if len(q.calls) == 0 {
		q.calls = append(q.calls, &serverCall{})
	}
	return q.calls[len(q.calls)-1]
}

func (q *Request) add(l line.Line) {
	switch l := l.(type) {
	case *line.Sent:
		q.calls = append(q.calls, &serverCall{sent: l})
	case *line.Response:
		if l.Type == line.TypeAnswerHead {
			q.answerHead = l
		} else {
			q.call().head = l
		}
	case *line.Message:
		if c := q.call().choice(l.Choice); c != nil {
			c.messages = append(c.messages, &recordedMessage{line: l, from: l.AtMS, to: l.AtMS})
		}
	case *line.Tokens:
		if call := q.call(); call.choice(l.Choice) != nil {
			call.choice(l.Choice).take(l, call.conversation())
		}
	case *line.Recovery:
		if c := q.call().choice(l.Choice); c != nil {
			c.recoveries = append(c.recoveries, l)
		}
	case *line.Piece:
		if l.Type == line.TypeChunk {
			q.call().chunks.WriteString(l.Body)
			return
		}
		if q.pieces == 0 {
			q.answerFrom = l.AtMS
		}
		q.pieces++
		q.answerTo = l.AtMS
		q.answer.WriteString(l.Body)
	case *line.End:
		q.end = l
	}
}

// choice returns a choice of the answer, or nil for an index that no answer has.
func (c *serverCall) choice(index int) *recordedChoice {
	if index < 0 || index >= contract.MaxChoices {
		return nil
	}
	for len(c.choices) <= index {
		c.choices = append(c.choices, &recordedChoice{})
	}
	return c.choices[index]
}

// conversation reports whether the server takes conversations.
func (c *serverCall) conversation() bool {
	if c.sent == nil {
		return false
	}
	kind := contract.KindNamed(c.sent.Server)
	return kind != nil && kind.Conversations
}

func (c *recordedChoice) take(l *line.Tokens, foreign bool) {
	c.foreign = c.foreign || foreign || l.Text != "" || l.Content != "" && len(l.IDs) == 0 && len(c.ids) == 0
	c.ids = append(c.ids, l.IDs...)
	for range l.IDs {
		c.times = append(c.times, l.AtMS)
	}
	if n := len(c.messages); n > 0 {
		c.messages[n-1].text.WriteString(l.Content)
		c.messages[n-1].to = l.AtMS
	}
}
