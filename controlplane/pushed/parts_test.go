package pushed

import (
	"bytes"
	"testing"

	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/harmonyedge/harmonyedge/sight/history"
)

// inside returns a message as a field of another.
func inside(message []byte, fields ...protowire.Number) []byte {
	for _, number := range fields {
		message = protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), message)
	}
	return message
}

// TestParts: empty messages are two bytes each, and would take a hundred times as much when they are decoded.
func TestParts(t *testing.T) {
	c := serve(t, New(history.New(history.Options{}), nil, anyEnvoy))
	named := func(name string, data []byte) []byte {
		return append(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name), data...)
	}
	const (
		sum       = "wasmcustom.harmony_tokens_total"
		histogram = "wasmcustom.harmony_time_to_first_token_milliseconds"
	)
	isCumulative := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), uint64(cumulative))
	many := func(number protowire.Number, n int) []byte { return bytes.Repeat(inside(nil, number), n) }
	deep := []byte{}
	for range maxDepth {
		deep = inside(deep, 1, 5) // a value in an array in a value
	}
	const tooMany = maxParts + 1
	for name, raw := range map[string][]byte{
		"resources": many(1, tooMany),
		"scopes":    inside(many(2, tooMany), 1),
		"metrics":   inside(many(2, tooMany), 2, 1),
		"numbers":   inside(named(sum, inside(append(many(1, tooMany), isCumulative...), 7)), 2, 2, 1),
		"histograms": inside(named(histogram, inside(append(many(1, tooMany), isCumulative...), 9)),
			2, 2, 1),
		"labels": inside(named(sum, inside(append(inside(many(7, tooMany), 1), isCumulative...), 7)), 2, 2, 1),
		"depth":  inside(deep, 2, 1, 1, 1),
	} {
		if len(raw) > maxPush {
			t.Errorf("%s: %d bytes are refused anyway", name, len(raw))
		}
		if err := proto.Unmarshal(raw, &metricsv1.MetricsData{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		m := &emptypb.Empty{}
		m.ProtoReflect().SetUnknown(raw)
		if err := c.Invoke(t.Context(), method, m, &emptypb.Empty{}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := &emptypb.Empty{}
	whole.ProtoReflect().SetUnknown(many(1, maxParts))
	if err := c.Invoke(t.Context(), method, whole, &emptypb.Empty{}); err != nil {
		t.Errorf("the most parts that there may be: %v", err)
	}
}
