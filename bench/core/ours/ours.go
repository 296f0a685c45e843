package ours

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Bench is one kind of work and its input. [Bench.Run] does the work once; [Bench.Result] returns the result of the
// last Run.
type Bench struct {
	tokenizer *tokenizer.Tokenizer
	encoder   tokenizer.Encoder
	renderer  *harmony.Renderer

	op           string
	texts        []string
	conversation *harmony.Conversation
	tokens       []uint32

	ids      []uint32
	content  sink
	messages []harmony.Message
	err      error
}

// New returns a [Bench] without work.
func New(t *tokenizer.Tokenizer) *Bench {
	return &Bench{tokenizer: t, renderer: harmony.NewRenderer(t)}
}

// Load sets the operation and its input. The input is not written to and must not change:
//
//	encode          texts separated by zero bytes
//	render          a conversation in the reference's JSON
//	strict, stream  token ids of four bytes, little-endian, after "<|start|>assistant"
func (b *Bench) Load(op string, input []byte) error {
	b.op, b.texts, b.tokens, b.conversation = op, nil, nil, nil
	switch op {
	case "encode":
		for text := range bytes.SplitSeq(input, []byte{0}) {
			b.texts = append(b.texts, string(text))
		}
	case "render":
		c, err := harmony.DecodeConversation(input)
		b.conversation = c
		return err
	case "strict", "stream":
		for len(input) >= 4 {
			b.tokens = append(b.tokens, binary.LittleEndian.Uint32(input))
			input = input[4:]
		}
	default:
		return errors.New("no operation " + op)
	}
	return nil
}

// Run does the work once.
func (b *Bench) Run() {
	switch b.op {
	case "encode":
		b.ids = b.ids[:0]
		for _, text := range b.texts {
			b.ids = b.encoder.Append(b.ids, b.tokenizer, text)
		}
	case "render":
		b.ids, b.err = b.renderer.AppendCompletion(b.ids[:0], b.conversation, harmony.Assistant, harmony.DropReference)
	case "strict":
		b.err = b.strict()
	case "stream":
		b.content.reset()
		p := harmony.NewStreamParser(b.tokenizer, &b.content)
		for _, id := range b.tokens {
			p.Process(id)
		}
		p.Finish()
	}
}

func (b *Bench) strict() error {
	p := harmony.NewStrictParser(b.tokenizer, harmony.Assistant, true)
	for _, id := range b.tokens {
		if err := p.Process(id); err != nil {
			return err
		}
		b.content.delta = p.LastDelta()
	}
	err := p.ProcessEOS()
	b.messages = p.Messages()
	return err
}

// Result returns the number of ids or messages of the last [Bench.Run], and a checksum of the ids or of the messages'
// texts.
func (b *Bench) Result() (count int, sum uint32, err error) {
	if b.err != nil {
		return 0, 0, b.err
	}
	switch b.op {
	case "strict":
		for i := range b.messages {
			sum = crc32.Update(sum, crc32.IEEETable, []byte(b.messages[i].Content[0].Text))
		}
		return len(b.messages), sum, nil
	case "stream":
		return b.content.messages, crc32.ChecksumIEEE(b.content.text), nil
	}
	var id [4]byte
	for i := range b.ids {
		binary.LittleEndian.PutUint32(id[:], b.ids[i])
		sum = crc32.Update(sum, crc32.IEEETable, id[:])
	}
	return len(b.ids), sum, nil
}

// sink is a [harmony.Sink] that keeps what a parser delivers.
type sink struct {
	text     []byte
	messages int
	delta    harmony.Optional // the strict parser's last delta, read after every token as a server does
}

func (s *sink) reset() { s.text, s.messages = s.text[:0], 0 }

// Open implements [harmony.Sink].
func (s *sink) Open(harmony.Header) { s.messages++ }

// Content implements [harmony.Sink].
func (s *sink) Content(text []byte, _ int) { s.text = append(s.text, text...) }

// Close implements [harmony.Sink].
func (s *sink) Close(harmony.End) {}
