package history

import (
	"bytes"
	"context"
	"time"
)

// UntilNext returns the time until the next interval begins.
func (h *History) UntilNext() time.Duration {
	now := h.now()
	return time.Unix(0, (h.interval(now)+1)*h.width).Sub(now)
}

// Poll reads the metrics of an Envoy that has just been started at the end of every interval, until ctx ends. get returns
// them in Prometheus' text format. A reading that fails leaves a gap.
func (h *History) Poll(ctx context.Context, from string, get func(context.Context) ([]byte, error)) {
	began := h.now()
	for {
		h.pollOnce(ctx, from, began, get)
		select {
		case <-ctx.Done():
			return
		case <-time.After(h.UntilNext()):
		}
	}
}

func (h *History) pollOnce(ctx context.Context, from string, began time.Time,
	get func(context.Context) ([]byte, error)) {
	ctx, cancel := context.WithTimeout(ctx, h.Interval())
	defer cancel()
	text, err := get(ctx)
	if err != nil {
		return
	}
	if all, err := Parse(bytes.NewReader(text)); err == nil {
		h.AddOf(h.now(), from, began, all)
	}
}
