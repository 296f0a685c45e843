package tap

import (
	"encoding/binary"
	"errors"
)

// Kind is what a [Frame] is about.
type Kind uint8

// The kinds of frames, in the order in which a request has them. A frame that is too large for the sender comes in
// several of the same kind, one after the other.
const (
	// Request begins a request. Its payload is the JSON of a [RequestHead].
	Request Kind = iota + 1
	// Body is a piece of the client's body.
	Body
	// Sent is the request that a server gets: the JSON of a [SentHead].
	Sent
	// SentBody is a piece of the body that the server gets, if it is not the client's.
	SentBody
	// Head is the beginning of the server's response: the JSON of a [ResponseHead].
	Head
	// Chunk is a piece of the server's body.
	Chunk
	// AnswerHead is the beginning of what the client gets: the JSON of a [ResponseHead]. Without one it is the server's.
	AnswerHead
	// Answer is a piece of what the client gets. A [Chunk] without an Answer behind it is held.
	Answer
	// Passed says that the client gets the last [Chunk] as it is. It has no payload.
	Passed
	// End is the end of a request: the JSON of an [EndReport]. No frame of the request follows.
	End
)

// Frame is one thing that the filter has seen, at a time.
type Frame struct {
	Kind Kind
	// Stream is the request's number, unique in the VM that sends it as long as the request runs.
	Stream uint32
	// At is the time in microseconds since 1970.
	At int64
	// Payload is valid as long as the bytes from which it was read.
	Payload []byte
}

// HeaderSize is the size of a frame without its payload, in bytes: the kind (1), the stream (4), the time (8) and the
// size of the payload (4), each with the lowest byte first.
const HeaderSize = 1 + 4 + 8 + 4

// Append adds a frame to b.
func Append(b []byte, f Frame) []byte {
	b = append(b, byte(f.Kind))
	b = binary.LittleEndian.AppendUint32(b, f.Stream)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.At))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Payload)))
	return append(b, f.Payload...)
}

// ErrBroken is the error of bytes that are not whole frames.
var ErrBroken = errors.New("tap: these bytes are not whole frames")

// Read takes the first frame off b. It returns [ErrBroken] if there is none.
func Read(b []byte) (f Frame, rest []byte, err error) {
	if len(b) < HeaderSize {
		return Frame{}, nil, ErrBroken
	}
	f.Kind = Kind(b[0])
	f.Stream = binary.LittleEndian.Uint32(b[1:])
	f.At = int64(binary.LittleEndian.Uint64(b[5:]))
	size := uint64(binary.LittleEndian.Uint32(b[13:]))
	b = b[HeaderSize:]
	if f.Kind < Request || f.Kind > End || size > uint64(len(b)) {
		return Frame{}, nil, ErrBroken
	}
	f.Payload = b[:size:size]
	return f, b[size:], nil
}
