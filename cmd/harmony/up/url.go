package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/found"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/probe"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// upURLs are the servers that the command line names by their URLs only. What else the gateway has to know is asked of
// them (RATIONALE.md#279).
type upURLs struct {
	urls        []string
	keyVariable string
	// from is the variable that names the server, or "". OPENAI_API_KEY is sent to that server only.
	from string
	// text is the configuration file for the servers, once they have answered.
	text string
}

func (s *upURLs) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.keyVariable, "key-env", "", "`VARIABLE` of the environment with the API key of the servers that are "+
		"named by URL")
}

// take takes the URLs of the command line. Where it names no server in any way, the environment may. The error is one
// of flags that do not go together.
func (s *upURLs) take(args []string, f *upFlags) error {
	for _, arg := range args {
		if !strings.Contains(arg, "://") {
			return unexpected(arg)
		}
	}
	s.urls = args
	if len(args) == 0 && f.file == "" && len(f.backends) == 0 {
		if url, from := cli.OpenAIServer(); url != "" {
			s.urls, s.from = []string{url}, from
		}
	}
	switch {
	case len(s.urls) == 0 && s.keyVariable != "":
		return errors.New("--key-env is the key of a server that is named by its URL; write one, such as harmony up " +
			"http://127.0.0.1:8000")
	case len(s.urls) == 0:
		return nil
	case f.file != "":
		return fmt.Errorf("%s is a server beside --config; write it into the pools of %s", s.urls[0], f.file)
	case len(f.backends) > 0:
		return fmt.Errorf("%s is a server beside --backend; write every server as --backend KIND=URL, or none", s.urls[0])
	case len(f.models) > 1:
		return errors.New("servers that are named by URL have one model; write --backend MODEL=KIND=URL for several")
	}
	if key := os.Getenv(cli.OpenAIKeyVariable); s.from != "" && s.keyVariable == "" && key != "" && key != "EMPTY" {
		s.keyVariable = cli.OpenAIKeyVariable
	}
	return nil
}

// unexpected returns the error for an argument that is not a URL. It suggests --config FILE or http://HOST:PORT.
func unexpected(arg string) error {
	meant := cli.ConfigMeant(arg)
	if _, port, err := net.SplitHostPort(arg); err == nil && port != "" {
		meant = "http://" + arg
	}
	if meant == "" {
		return fmt.Errorf("%q is not expected here; the URL of a server is, such as http://127.0.0.1:8000: see harmony up "+
			"--help", arg)
	}
	return fmt.Errorf("%q is not expected here; %ssee harmony up --help", arg, cli.DidYouMean(meant))
}

// ask asks the servers, and makes the configuration for them the base of the flags. It prints it.
func (s *upURLs) ask(ctx context.Context, f *upFlags, out io.Writer) error {
	var servers []*found.Server
	for _, url := range s.urls {
		end := waitFor(out, url+" to answer")
		one, err := s.askOne(ctx, url, f)
		end()
		if err != nil {
			if s.from != "" {
				return fmt.Errorf("$%s: %w", s.from, err)
			}
			return err
		}
		r := one.Report
		fmt.Fprintf(out, "%s is %s\n", one.URL(), cli.ProgramText(r.Program(), r.Context, vocabulary(one)))
		servers = append(servers, one)
	}
	first := servers[0].Report
	for _, one := range servers[1:] {
		if r := one.Report; r.Model != first.Model || r.Kind().Name != first.Kind().Name {
			return cli.Usage(fmt.Errorf("%s has the model %q, as %s, and %s has %q, as %s; write a file with a pool for "+
				"each: harmony probe prints the parts", servers[0].URL(), first.Model, first.Kind().Name, one.URL(), r.Model,
				r.Kind().Name))
		}
		if r := one.Report; r.Context > 0 && (first.Context == 0 || r.Context < first.Context) {
			first.Context = r.Context
		}
	}
	if first.Kind().TextPrompts && !f.acceptText {
		return cli.Usage(fmt.Errorf("%s takes prompts as text only; add --accept-text-prompts after reading "+
			"docs/text.md", servers[0].URL()))
	}
	s.text = found.File(s.modelName(f, servers[0]), servers...)
	from := cli.IfTrue(s.from != "", " (the server is of $"+s.from+")")
	fmt.Fprintf(out, "the file to keep%s, for harmony up --config FILE:\n\n%s\n", from, s.text)
	return s.config(f)
}

// modelName returns the name that clients ask for.
func (s *upURLs) modelName(f *upFlags, one *found.Server) string {
	if len(f.models) == 1 {
		return f.models[0]
	}
	return found.ClientName(one.Report.Model)
}

// config makes the configuration for the servers the base of the flags, without those that are in it already.
func (s *upURLs) config(f *upFlags) (err error) {
	f.models, f.acceptText = nil, false
	f.base, err = config.Parse("", []byte(s.text))
	return err
}

// askOne asks one server, and returns an error if the gateway cannot use it or if the choice of a model is open.
func (s *upURLs) askOne(ctx context.Context, url string, f *upFlags) (*found.Server, error) {
	one, err := found.Ask(ctx, url, found.Options{Model: f.serverModel, KeyVariable: s.keyVariable, Brief: true,
		Choose: func(served []string) (string, error) { return choose(served, f.models) }})
	if err != nil {
		return nil, err
	}
	return one, one.Unusable()
}

// choose returns the model of a server that --model names, or "" where there is only one that may be meant. Several are
// an error, because the wrong one would answer.
func choose(served, named []string) (string, error) {
	if len(named) == 1 && slices.Contains(served, named[0]) {
		return named[0], nil
	}
	likely := 0
	for _, name := range served {
		if probe.Likely(name) {
			likely++
		}
	}
	if len(served) > 1 && likely != 1 {
		return "", fmt.Errorf("it serves %s; choose one with --server-model NAME", pools.Quoted(served))
	}
	return "", nil
}

// vocabulary returns what the comparison with a server's vocabulary has shown.
func vocabulary(s *found.Server) pools.Vocabulary {
	switch t := s.Report.Texts; {
	case t.All() == 0:
		return pools.VocabularyNotAsked
	case t.Other > 0:
		return pools.OtherVocabulary
	}
	return pools.SameVocabulary
}
