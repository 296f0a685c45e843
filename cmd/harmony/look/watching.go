package look

import (
	"context"
	"io"
	"time"

	"github.com/harmonyedge/harmonyedge/inspect/watch"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

// restOfLines is how long the last lines of a watched recorder may take to be written.
const restOfLines = time.Second

// StartWatching begins to print what a recorder records. The caller closes the recorder, and then calls end. It waits
// until the last lines are written, and at most for [restOfLines], because the reader of out may have stopped.
func StartWatching(r *record.Recorder, out io.Writer, o watch.Options) (end func()) {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch.Watch(context.Background(), r, watch.New(out, o))
	}()
	return func() {
		select {
		case <-watched:
		case <-time.After(restOfLines):
		}
	}
}
