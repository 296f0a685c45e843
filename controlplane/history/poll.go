package history

import (
	"bytes"
	"context"
	"time"
)

// Poll reads one Envoy's metrics at the end of every interval, until ctx ends. get returns them in Prometheus' text
// format. A reading that fails leaves a gap: failed is called with the error, and may be nil.
func (h *History) Poll(ctx context.Context, from string, get func(context.Context) ([]byte, error),
	failed func(error)) {
	for {
		if err := h.pollOnce(ctx, from, get); err != nil && failed != nil && ctx.Err() == nil {
			failed(err)
		}
		now := h.now()
		next := time.Unix(0, (h.interval(now)+1)*h.width)
		select {
		case <-ctx.Done():
			return
		case <-time.After(next.Sub(now)):
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
