package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// sampled appends a message as the model has written it.
func (w *messageWriter) sampled(dst []uint32, m *Message) ([]uint32, error) {
	if w.exceeded || len(m.Sampled) > w.limit-len(dst) {
		w.exceeded = true
		return dst, nil
	}
	dst = append(dst, m.Sampled...)
	switch m.Sampled[len(m.Sampled)-1] {
	case tokenizer.Message:
		return w.body(dst, m)
	case tokenizer.End, tokenizer.Call:
	case tokenizer.Return:
		dst[len(dst)-1] = m.end()
	default:
		dst = append(dst, m.end())
	}
	return dst, nil
}

// SampledReader reads messages in the ids with which a model has written them. It takes only what is well formed:
// nothing to repair, nothing that the reference would refuse, and no special id but the format's own. So what it has
// read may stand in a prompt as it is.
type SampledReader struct {
	stream *StreamParser
	check  *StrictCheck
	at     int
}

// NewSampledReader returns a reader for one answer, whose messages sink gets.
func NewSampledReader(t *tokenizer.Tokenizer, sink Sink) *SampledReader {
	return &SampledReader{stream: NewStreamParser(t, sink), check: NewStrictCheck(t)}
}

// Read reads the answer, from the ids that follow "<|start|>assistant" on, and reports whether all of them are well
// formed. If they are not, it stops early. The last message may be cut: [Sink.Close] then gets [Cut]. A header that is
// cut is left out. Read may be called once.
func (r *SampledReader) Read(ids []uint32) bool {
	for i, id := range ids {
		r.at = i
		special := tokenizer.IsSpecial(id)
		if special && !ofFormat(id) {
			return false
		}
		r.check.Process(id)
		r.stream.Process(id)
		if special && !r.wellFormed() {
			return false
		}
	}
	switch r.stream.state {
	case inContent:
		r.stream.Finish()
	case atChannel:
		return false
	}
	return r.wellFormed()
}

// At returns the index of the id that Read is reading. While Read calls the sink, that is the id which ended a header,
// brought content or ended a message.
func (r *SampledReader) At() int { return r.at }

func (r *SampledReader) wellFormed() bool {
	return r.check.Err() == nil && r.stream.recoveries.Total() == 0
}

// ofFormat reports whether the format gives a special id a meaning.
func ofFormat(id uint32) bool {
	switch id {
	case tokenizer.Start, tokenizer.End, tokenizer.Message, tokenizer.Channel, tokenizer.Constrain, tokenizer.Return,
		tokenizer.Call:
		return true
	}
	return false
}
