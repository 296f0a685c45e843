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

// Poll reads one Envoy's metrics at the end of every interval, until ctx ends. get returns them in Prometheus' text
// format. A reading that fails leaves a gap: failed is called with the error, and may be nil.
func (h *History) Poll(ctx context.Context, from string, get func(context.Context) ([]byte, error),
	failed func(error)) {
	for {
		if err := h.pollOnce(ctx, from, get); err != nil && failed != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(h.UntilNext()):
		}
	}
}

func (h *History) pollOnce(ctx context.Context, from string, get func(context.Context) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(ctx, h.Interval())
	defer cancel()
	text, err := get(ctx)
	if err != nil {
		return err
	}
	all, err := Parse(bytes.NewReader(text))
	if err != nil {
		return err
	}
	h.Add(h.now(), from, all)
	return nil
}
