package pushed

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// maxParts is how many messages a push may consist of, those in others included. An Envoy's have ten bytes or more
	// each. The smallest has two, but a hundred when it is decoded.
	maxParts = 64 << 10
	// maxDepth is how deep a message may lie in others. An Envoy's lie seven deep.
	maxDepth = 16
)

// fits reports whether a push that is not decoded yet has no more parts than it may have. A push that is not OTLP fits,
// because the decoder refuses it.
func fits(raw []byte, kind protoreflect.MessageDescriptor) bool {
	return countParts(raw, kind, maxParts, maxDepth) >= 0
}

// countParts counts the messages in one of a kind, and returns what is left of them, or -1 if that is less than none.
func countParts(raw []byte, kind protoreflect.MessageDescriptor, left, depth int) int {
	if depth == 0 {
		return -1
	}
	for len(raw) > 0 && left >= 0 {
		number, wire, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return left
		}
		raw = raw[n:]
		if n = protowire.ConsumeFieldValue(number, wire, raw); n < 0 {
			return left
		}
		value := raw[:n]
		raw = raw[n:]
		field := kind.Fields().ByNumber(number)
		if wire != protowire.BytesType || field == nil || field.Message() == nil {
			continue
		}
		inner, _ := protowire.ConsumeBytes(value)
		left = countParts(inner, field.Message(), left-1, depth-1)
	}
	return left
}
