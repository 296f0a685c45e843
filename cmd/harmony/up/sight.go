package up

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/look"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect/watch"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/history"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

// sightFlags say what of requests is shown and kept. Without them, nothing of a request is but what the page's
// playground asks.
type sightFlags struct {
	record         string
	recordSize     config.Size
	watch, verbose bool
}

func (f *sightFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.record, "record", "", "keep each request, its prompt and answer included, as a file in `FOLDER`; "+
		"harmony inspect explain reads it")
	look.AddRecordSize(flags, "record-max-size", &f.recordSize)
	flags.BoolVar(&f.watch, "watch", false, "print a line for each request: model, tokens, times, how it ended, repairs")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "with --watch: print what the model writes, as it comes")
}

// check returns an error for flags that do not go together.
func (f *sightFlags) check(printBootstrap bool) error {
	switch {
	case f.verbose && !f.watch:
		return errors.New("-v says what --watch prints; add --watch")
	case printBootstrap && (f.record != "" || f.watch):
		return errors.New("--print-bootstrap runs nothing; leave --record and --watch out")
	}
	return nil
}

// all returns what the filter tells the recorder of every request.
func (f *sightFlags) all() string {
	switch {
	case f.record != "" || f.verbose:
		return contract.TapEverything
	case f.watch:
		return contract.TapSummary
	}
	return contract.TapNone
}

// upSight is what shows what the gateway does: the recorder that the filter sends to, what --watch prints, and the
// address of the page.
type upSight struct {
	recorder *record.Recorder
	// key is the recorder's. Only this program and its Envoy know it.
	key      string
	frames   *http.Server
	listener net.Listener // of the page
	// endWatching comes from [look.StartWatching]. It is nil without --watch.
	endWatching func()
	page        *http.Server // nil until the gateway serves
	past        *history.History
	// sampling reads metrics for the page until endSampling is called. Before it has begun, endSampling is nil.
	sampling    sync.WaitGroup
	endSampling context.CancelFunc
}

// startSight starts the recorder, and binds the address of the page.
func (u *up) startSight(f *sightFlags) (*upSight, error) {
	admin, err := cli.Listen(u.config.Admin, "--admin")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, admin.Close())
	}
	s := &upSight{key: rand.Text(), listener: admin, past: history.New(history.Options{})}
	s.recorder, err = record.New(record.Options{Tokenizer: o200k.Tokenizer, Folder: f.record,
		FolderLimit: int64(f.recordSize), Log: u.eventLog()})
	if err != nil {
		return nil, cli.Usage(errors.Join(err, admin.Close(), l.Close()))
	}
	s.frames = quietServer(s.recorder.Handler(s.key))
	go func() { _ = s.frames.Serve(l) }() // it ends when the server is closed
	tap := config.Tap{URL: "http://" + l.Addr().String(), All: f.all()}
	if u.config.Tap.URL != "" {
		fmt.Fprintln(u.stderr, "note: tap.url is not used, because harmony up has a recorder of its own")
	}
	u.config.Tap = tap
	adjust := u.adjust
	u.adjust = func(c *config.Config) error {
		c.Tap = tap
		return adjust(c)
	}
	if f.watch {
		layout, _ := (&cli.LayoutFlags{Color: "auto"}).Options(u.stdout) // without a flag there is no error
		s.endWatching = look.StartWatching(s.recorder, u.stdout,
			watch.Options{Width: layout.Width, Color: layout.Color, Transcripts: f.verbose})
	}
	return s, nil
}

// environment returns the variables by which the filter gets the recorder's key.
func (s *upSight) environment() map[string]string {
	return map[string]string{contract.TapKeyVariable: s.key}
}

// restOfFrames is how long the filter may take to send the ends of the requests that have just ended.
const restOfFrames = time.Second

// settle waits until the recorder knows the end of every request. All of them have ended.
func (s *upSight) settle() {
	running := func(r record.Summary) bool { return r.Running }
	for end := time.Now().Add(restOfFrames); time.Now().Before(end); time.Sleep(cli.DrainPoll) {
		if !slices.ContainsFunc(s.recorder.Summaries(), running) {
			return
		}
	}
}

// stop ends the page, the recorder and what --watch prints.
func (s *upSight) stop() {
	if s.endSampling != nil {
		s.endSampling()
	}
	s.sampling.Wait()
	if s.page != nil {
		_ = s.page.Close()
	}
	_ = s.listener.Close() // the page's server has closed it already
	_ = s.frames.Close()
	_ = s.recorder.Close() // it has logged what could not be written
	if s.endWatching != nil {
		s.endWatching()
	}
}

// quietServer returns a server that logs nothing of single connections.
func quietServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(io.Discard, "", 0)}
}
