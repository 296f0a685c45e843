package watch

import (
	"context"
	"fmt"

	"github.com/harmonyedge/harmonyedge/sight/record"
)

// Source is what Watch needs of a [record.Recorder].
type Source interface {
	Subscribe(ctx context.Context) <-chan record.Event
	Summaries() []record.Summary
}

// Watch prints the requests of a recorder until ctx ends, the recorder is closed or nothing can be written any more.
func Watch(ctx context.Context, source Source, p *Printer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for e := range source.Subscribe(ctx) {
		if e.Lost > 0 {
			p.lost(e.Lost, source.Summaries())
		}
		switch e.Kind {
		case record.Line:
			p.Line(e.ID, e.Line)
		case record.Ended:
			p.Ended(&e.Summary)
		}
		if p.Err() != nil {
			return
		}
	}
}

// lost prints that events are lost, because the output is slower than the requests. It ends the transcripts of requests
// whose end may have been among them.
func (p *Printer) lost(n int, known []record.Summary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := map[string]bool{}
	for i := range known {
		running[known[i].ID] = known[i].Running
	}
	for id := range p.requests {
		if !running[id] {
			p.end(id)
		}
	}
	p.interrupt()
	p.print(p.Paint(alert, fmt.Sprintf("(%s pieces are not shown: the output is slower than the requests)",
		grouped(n))) + "\n")
}
