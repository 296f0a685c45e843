package explain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// MaxInput is the largest input that is read, in bytes.
const MaxInput = 64 << 20

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxInput+1))
	if err == nil && len(data) > MaxInput {
		err = errors.New("the input is larger than 64 MiB; explain a part of it")
	}
	return data, err
}

// ReadIDs reads token ids: a JSON array, or numbers separated by white space or commas. Of an answer of the API it
// returns the ids that the answer has.
func ReadIDs(r io.Reader) ([]uint32, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, err
	}
	if ids, known, err := readAnswer(data); known {
		return ids, err
	}
	body := bytes.TrimSpace(data)
	if n := len(body); n > 1 && body[0] == '[' && body[n-1] == ']' {
		body = body[1 : n-1]
	}
	var ids []uint32
	for word := range bytes.FieldsFuncSeq(body, isSeparator) {
		id, err := strconv.ParseUint(string(word), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("number %d of the input, %.40q, is not a token id; for Harmony text use --text, for a "+
				"server's stream --sse", len(ids)+1, word)
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}

func isSeparator(r rune) bool {
	return r == ',' || r == ' ' || r == '\n' || r == '\t' || r == '\r'
}

// ReadText reads Harmony text. Every spelling of a control token counts as that token. A line end at the end of the
// input is dropped, because editors and shells add one.
func ReadText(t *tokenizer.Tokenizer, r io.Reader) ([]uint32, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	return t.AppendEncodeSpecial(nil, string(data)), nil
}

// ReadSSE reads the event stream of a server that sends token_ids, such as vLLM, or a stream of the API that has ids.
// Together with an error it returns the ids that were read before it.
func ReadSSE(r io.Reader) ([]uint32, error) {
	kind, ok := backend.Named(contract.VLLM)
	if !ok {
		return nil, errors.New("this program knows no vllm")
	}
	data, err := readAll(r)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(data, []byte(`"token_ids":`)) {
		if ids, known, err := readAnswer(data); known {
			return ids, err
		}
	}
	var ids []uint32
	var e backend.Event
	var d sse.Decoder // to quote an event that the reader does not understand
	reader := kind.NewReader()
	events := 0
	d.Write(append(data, "\n\n"...))
	for text, ok := d.Next(); ok; text, ok = d.Next() {
		events++
		reader.Write(slices.Concat([]byte("data: "), bytes.ReplaceAll(text, []byte("\n"), []byte("\ndata: ")),
			[]byte("\n\n")))
		switch {
		case reader.Next(&e) != backend.Read:
			return ids, fmt.Errorf("event %d, %.60q, is not an event of a completion's stream; save the stream with curl -N",
				events, text)
		case e.Error != nil:
			return ids, eventError(events, e.Error)
		}
		ids = append(ids, e.Tokens...)
	}
	switch {
	case d.Broken():
		return ids, errors.New("an event is larger than 4 MiB; this is not a completion's stream")
	case events == 0:
		return ids, errors.New("no events found; a stream has lines that begin with data:, as curl -N prints them")
	}
	return ids, nil
}

func eventError(number int, e *backend.Error) error {
	advice := "what came before it is explained"
	if strings.Contains(e.Message, "return_token_ids") {
		advice = `ask with "return_token_ids": true`
	}
	return fmt.Errorf("event %d is an error, %q; %s", number, e.Message, advice)
}
