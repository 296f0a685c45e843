package history

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The names of the series.
const (
	TokensPerSecond     = "tokens_per_second"
	RequestsPerSecond   = "requests_per_second"
	RecoveriesPerMinute = "recoveries_per_minute"
	ChunksPerSecond     = "chunks_per_second"
	NACKsPerMinute      = "nacks_per_minute"
	Streams             = "streams"
	FirstToken          = "first_token_ms"
	Servers             = "servers"
	Queued              = "queued_requests"
	QueueRefusals       = "queue_refusals_per_minute"
	Envoys              = "envoys"
	EnvoysCurrent       = "envoys_current"
	// buckets are the buckets from which the quantiles of FirstToken come.
	buckets = "first_token_buckets"
)

// kind is how the values of a series are read.
type kind struct {
	unit string
	// per is the time in seconds to which increases refer. 0 is a gauge.
	per float64
}

var kinds = map[string]kind{
	TokensPerSecond: {"tokens/s", 1}, RequestsPerSecond: {"requests/s", 1}, RecoveriesPerMinute: {"1/min", 60},
	ChunksPerSecond: {"chunks/s", 1}, NACKsPerMinute: {"1/min", 60}, Streams: {"streams", 0}, FirstToken: {"ms", 0},
	Queued: {"requests", 0}, QueueRefusals: {"1/min", 60},
	Servers: {"servers", 0}, Envoys: {"Envoys", 0}, EnvoysCurrent: {"Envoys", 0},
}

// Value is a value of a series. NaN stands for none, and is null in JSON.
type Value float64

// MarshalJSON implements [encoding/json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	f := float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, f, 'g', significant, 64), nil
}

// significant is how many digits of a value are sent.
const significant = 6

// Series is one line of a plot.
type Series struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Unit   string            `json:"unit"`
	Values []Value           `json:"values"`
}

// Point is one value of a [Series].
type Point struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Value  Value             `json:"value"`
}

// Page is everything that a [History] holds.
type Page struct {
	// IntervalS is the time between two values, in seconds.
	IntervalS float64 `json:"interval_s"`
	// Times are when the values' intervals begin, in seconds since 1970.
	Times  []int64  `json:"times"`
	Series []Series `json:"series"`
}

// Latest is the newest value of every series.
type Latest struct {
	Time   int64   `json:"time"`
	Series []Point `json:"series"`
}

// series is a [Series] in a ring: the value of an interval is at its number, modulo the length.
type series struct {
	name   string
	labels map[string]string
	kind   kind
	values []float64
	newest int64 // the newest interval with a value
}

// keyOf returns what identifies a series.
func keyOf(name string, labels map[string]string) string {
	if len(labels) == 0 {
		return name
	}
	var b strings.Builder
	b.WriteString(name)
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		b.WriteByte(0)
		b.WriteString(label)
		b.WriteByte(0)
		b.WriteString(labels[label])
	}
	return b.String()
}

func (s *series) at(interval int64) *float64 { return &s.values[interval%int64(len(s.values))] }

// value returns the value of an interval of so many seconds.
func (s *series) value(interval int64, seconds float64) Value {
	v := *s.at(interval)
	if s.kind.per > 0 {
		v *= s.kind.per / seconds
	}
	return Value(v)
}

// add adds an increase to an interval.
func (s *series) add(interval int64, increase float64) {
	v := s.at(interval)
	if math.IsNaN(*v) {
		*v = 0
	}
	*v += increase
	s.newest = max(s.newest, interval)
}
