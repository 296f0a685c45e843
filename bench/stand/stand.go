// Package stand runs what a benchmark of pools measures: simulated servers, an Envoy with the filter before them, and a
// picker.
//
// It knows Envoy, the picker and the servers from outside. It does not know what is asked of them.
package stand

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/sim"
)

// Options are the parts of a [Stand].
type Options struct {
	// Servers is how many servers there are, and Server what each of them is.
	Servers int
	Server  sim.Options
	// Configuration returns the operator's file for the URLs of the servers and, with a picker, its address.
	Configuration func(servers []string, picker string) (string, error)
	// Files are further files, by their names, in the folder of the operator's file.
	Files map[string]string
	// Picker are the options of the picker, or nil if there is none.
	Picker *picker.Options
	// Before, if it is not nil, starts what stands between Envoy and the servers. It returns the URL of that.
	Before func(ctx context.Context, servers []string) (url string, stop func(), err error)
	// Ask, if it is not nil, starts another picker than ours. It returns the address of that.
	Ask func(ctx context.Context, servers []string) (address string, stop func(), err error)
}

// Stand is an Envoy with the filter, its picker, and its servers.
type Stand struct {
	Servers []*sim.Server
	// URL is Envoy's.
	URL string

	host   *hosts.Host
	folder string
	stop   context.CancelFunc
	stops  []func()
	ended  []chan error
}

// Start starts new servers and a gateway.
func Start(ctx context.Context, o Options) (*Stand, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &Stand{stop: stop}
	if err := s.run(ctx, &o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stand) run(ctx context.Context, o *Options) (err error) {
	var urls []string
	for range o.Servers {
		one := sim.New(o.Server)
		s.Servers = append(s.Servers, one)
		url, err := one.Start("127.0.0.1:0")
		if err != nil {
			return err
		}
		urls = append(urls, url)
	}
	if o.Before != nil {
		url, stop, err := o.Before(ctx, urls)
		if err != nil {
			return err
		}
		s.stops, urls = append(s.stops, stop), []string{url}
	}
	address := ""
	if o.Ask != nil {
		picker, stop, err := o.Ask(ctx, urls)
		if err != nil {
			return err
		}
		s.stops, address = append(s.stops, stop), picker
	}
	if s.folder, err = os.MkdirTemp("", "harmony-bench-"); err != nil {
		return err
	}
	var listener net.Listener
	if o.Picker != nil {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		address = listener.Addr().String()
	}
	file, err := s.write(o, urls, address)
	if err == nil && listener != nil {
		err = s.pick(ctx, *o.Picker, file, listener)
	} else if listener != nil {
		err = errors.Join(err, listener.Close())
	}
	if err != nil {
		return err
	}
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	if s.host, err = hosts.Envoy(hosts.Setup{Config: c}); err == nil {
		s.URL = s.host.URL
	}
	return err
}

// write writes the operator's files, and returns the name of the first.
func (s *Stand) write(o *Options, urls []string, picker string) (string, error) {
	for name, text := range o.Files {
		if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	text, err := o.Configuration(urls, picker)
	if err != nil {
		return "", err
	}
	text = strings.ReplaceAll(text, "{folder}", s.folder)
	file := filepath.Join(s.folder, "config.yaml")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// pick runs a picker until the context ends.
func (s *Stand) pick(ctx context.Context, o picker.Options, file string, l net.Listener) error {
	log := slog.New(slog.DiscardHandler)
	p := picker.New(o)
	ended, ready := make(chan error, 1), make(chan struct{})
	s.ended = append(s.ended, ended)
	program := follow.Program{
		Follower: follow.Open(follow.Options{File: file, Needs: follow.Needs{Secret: server.PickersSecret,
			ClientsFor: server.PickersClients}}),
		Parts: []follow.Part{
			follow.NewServed(func(ctx context.Context) error { return picker.NewService(p, log).Serve(ctx, l) }),
			server.NewFeed(server.FeedOptions{Picker: p, Log: log}),
		},
		Ready: func() { close(ready) }, Log: log,
	}
	go func() { ended <- program.Run(ctx) }()
	select {
	case <-ready:
		return nil
	case err := <-ended:
		ended <- nil
		return err
	}
}

// Close ends everything.
func (s *Stand) Close() (err error) {
	if s.host != nil {
		s.host.Stop()
	}
	s.stop()
	for _, ended := range s.ended {
		err = errors.Join(err, <-ended)
	}
	for _, stop := range s.stops {
		stop()
	}
	for _, one := range s.Servers {
		one.Close()
	}
	if s.folder != "" {
		err = errors.Join(err, os.RemoveAll(s.folder))
	}
	return err
}

// Answers returns the script of the servers: what they think, and a text that is longer than any request wants. The
// first token comes alone, the others in fours, so that this machine has less to do.
func Answers() *sim.Script {
	text := "<|channel|>analysis<|message|>" + strings.Repeat(" so", 12) +
		"<|end|><|start|>assistant<|channel|>final<|message|>" + strings.Repeat(" word", 1000) + "<|return|>"
	return sim.NewScript(sim.Line{Match: "<|start|>", Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, text),
		Chunks: []int{1, 4}})
}
