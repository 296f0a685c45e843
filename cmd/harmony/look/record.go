package look

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect/watch"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

const recordLong = `Writes a file in FOLDER for each request that a client of your Envoys wants recorded: what the client
asked, the prompt, each token with its time, what was repaired, and what the client got. harmony inspect explain FILE
shows one. A line is printed for each request.

Records have the texts of the requests. Their files are readable for your user only. Nothing else is recorded: a
request must show the key in the header x-harmony-tap. Choose a key of at least 16 characters, and give it to this
program and to all Envoys in the environment variable HARMONY_TAP_KEY. Name this program's address in the
configuration:

  tap: { url: http://10.0.0.8:9903 }

Envoys send records in clear text. Keep the way from the Envoys to this program on a network that you trust.

Exit status: 0 after an interrupt, 1 when something failed, 2 when the command line, the key or the folder is wrong.`

// defaultRecorder is where harmony record listens.
const defaultRecorder = "127.0.0.1:9903"

// recordCommand returns the command "harmony record".
func recordCommand() *cobra.Command {
	var listen string
	var size config.Size
	var verbose bool
	var layout cli.LayoutFlags
	c := &cobra.Command{
		Use:   "record FOLDER",
		Short: "Record the requests whose clients want it, for Envoys of your own",
		Long:  recordLong,
		Example: `  export HARMONY_TAP_KEY=$(openssl rand -hex 16)
  harmony record --listen 10.0.0.8:9903 records
  curl http://10.0.0.1:8080/v1/chat/completions -H "x-harmony-tap: $HARMONY_TAP_KEY" \
    -H 'content-type: application/json' \
    -d '{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}]}'
  harmony inspect explain "$(ls -t records/*.jsonl | head -n 1)"`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := layout.Options(cmd.OutOrStdout())
			if err != nil {
				return cli.Usage(err)
			}
			return runRecorder(cmd, listen, args[0], size, watch.Options{Width: o.Width, Color: o.Color, Transcripts: verbose})
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", defaultRecorder, "`ADDRESS` for the Envoys; port 0 takes a free one")
	AddRecordSize(f, "max-size", &size)
	f.BoolVarP(&verbose, "verbose", "v", false, "print what the models write too")
	layout.Add(f)
	return c
}

// AddRecordSize adds the flag that bounds a folder of records.
func AddRecordSize(flags *pflag.FlagSet, name string, size *config.Size) {
	*size = record.DefaultFolderLimit
	flags.Var(size, name, "how much the records in the folder may take together, as a `SIZE` such as 2GiB; the oldest "+
		"are removed; 0 for no bound")
}

func oneFolder(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return cli.Usage(fmt.Errorf("no folder is given; see %s --help", c.CommandPath()))
	case len(args) > 1:
		return cli.Usage(fmt.Errorf("%q is one folder too many; see %s --help", args[1], c.CommandPath()))
	}
	return nil
}

// runRecorder records until an interrupt.
func runRecorder(cmd *cobra.Command, listen, folder string, size config.Size, o watch.Options) error {
	key := os.Getenv(contract.TapKeyVariable)
	if len(key) < contract.MinTapKey {
		return cli.Usage(fmt.Errorf("the environment variable %s has no key of at least %d characters; make one with "+
			"openssl rand -hex 16, and give it to the Envoys too", contract.TapKeyVariable, contract.MinTapKey))
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	r, err := record.New(record.Options{Tokenizer: o200k.Tokenizer, Folder: folder, FolderLimit: int64(size), Log: log})
	if err != nil {
		return cli.Usage(err)
	}
	l, err := cli.Listen(listen, "--listen")
	if err != nil {
		return errors.Join(err, r.Close())
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &http.Server{
		Handler: r.Handler(key), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	fmt.Fprintf(cmd.OutOrStdout(), "recording in %s what Envoys send to http://%s\n", folder, l.Addr())
	endWatching := StartWatching(r, cmd.OutOrStdout(), o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		err = shutDown(s)
	}
	err = errors.Join(err, r.Close())
	endWatching()
	return err
}

// shutDown lets the frames that come now be written.
func shutDown(s *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		return s.Close()
	}
	return nil
}
